"""Reading messages: the active path as a few range reads (C5), the whole tree, and texts of copies (X18)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agentflow import events
from agentflow.conversation.tree import Place
from agentflow.message import Content, Message, text_of
from agentflow.store.records import NodeRecord, PathEntry, Tree
from agentflow.store.rows.messages import message_of
from agentflow.store.sql.transaction import Tx
from agentflow.text import stored_json

# What `message_of` takes, of message `m`; a copy stores none of its content: it is the original's, `o`.
CONTENT = (
    "m.id, m.role, coalesce(o.content, m.content), coalesce(o.parts, m.parts), coalesce(o.calls, m.calls), m.call_id, "
    "coalesce(o.name, m.name), coalesce(o.provider, m.provider), coalesce(o.hidden, m.hidden), "
    "coalesce(o.written_as, m.written_as)"
)
ORIGINAL = "LEFT JOIN message o ON o.session_key = m.session_key AND o.id = m.copied_from"
# What `answer_of` takes, of the message that is the answer of a `step`, and that message.
ANSWER = "step.answer_id, coalesce(o.content, m.content), coalesce(o.parts, m.parts), step.answer_chars"
ANSWER_MESSAGE = f"LEFT JOIN message m ON m.session_key = step.session_key AND m.id = step.answer_id {ORIGINAL}"
# The parent stands one depth higher, on the same branch or, for the first of a branch, on the branch it forks from.
PARENT = (
    "JOIN branch b ON b.session_key = m.session_key AND b.number = m.branch LEFT JOIN message p "
    "ON p.session_key = m.session_key AND p.depth = m.depth - 1 "
    "AND p.branch = CASE WHEN m.depth = b.fork_depth + 1 THEN b.parent ELSE m.branch END"
)

# The branches of a path, each with the last depth that belongs to it: `depth, key, branch, key`.
LINE = """
WITH RECURSIVE line (number, parent, fork_depth, last) AS (
    SELECT number, parent, fork_depth, CAST(? AS INTEGER) FROM branch WHERE session_key = ? AND number = ?
    UNION ALL
    SELECT b.number, b.parent, b.fork_depth, line.fork_depth FROM line JOIN branch b
    ON b.session_key = ? AND b.number = line.parent AND b.number < line.number
)
"""
_PATH = f"""
{LINE}
SELECT m.turn, m.branch, m.depth, m.copied_from, {CONTENT} FROM line
JOIN message m ON m.session_key = ? AND m.branch = line.number AND m.depth <= line.last
{ORIGINAL}
"""
_FULL = _PATH + " ORDER BY m.depth"
# Of earlier turns a lean history has neither results nor replies that only call tools (X1).
_LEAN = f"""{_PATH} WHERE m.turn >= ? OR m.role IN ('user', 'system')
OR (m.role = 'assistant' AND coalesce(o.content, o.parts, m.content, m.parts) IS NOT NULL) ORDER BY m.depth
"""

_TREE = f"""
SELECT p.id, m.copied_from, turn.id, {CONTENT} FROM message m {PARENT} {ORIGINAL}
LEFT JOIN turn ON turn.session_key = m.session_key AND turn.number = m.turn
WHERE m.session_key = ? AND b.execution IS NULL ORDER BY m.branch, m.depth
"""


_COMPACTIONS = "SELECT ref, data FROM event WHERE session_key = ? AND type = ? ORDER BY seq"


def path(tx: Tx, key: int, head: Place | None, lean_before: int | None) -> list[PathEntry]:
    """The path to `head`, root first; with `lean_before`, of turns below it only messages with text, no results."""
    if head is None:
        return []
    chosen = (head.depth, key, head.branch, key, key)
    found = tx.all(_FULL, *chosen) if lean_before is None else tx.all(_LEAN, *chosen, lean_before)
    return [PathEntry(message_of(row[4:]), row[0], Place(row[1], row[2]), row[3]) for row in found]


def entries(tx: Tx, key: int, ids: Sequence[str]) -> list[PathEntry]:
    """The recorded messages of these ids, in no order; ids that are not recorded are left out."""
    if not ids:
        return []
    marks = ", ".join("?" * len(ids))
    found = tx.all(
        f"SELECT m.turn, m.branch, m.depth, m.copied_from, {CONTENT} FROM message m {ORIGINAL} "
        f"WHERE m.session_key = ? AND m.id IN ({marks})",
        key, *ids,
    )  # fmt: skip
    return [PathEntry(message_of(row[4:]), row[0], Place(row[1], row[2]), row[3]) for row in found]


def run_path(tx: Tx, key: int, execution: int) -> list[PathEntry]:
    """The newest branch of a sub-agent's run, root first; every one of them is a root of its own."""
    found = tx.one(
        "SELECT branch, max(depth) FROM message WHERE session_key = ? AND branch = "
        "(SELECT max(number) FROM branch WHERE session_key = ? AND execution = ?) GROUP BY branch",
        key, key, execution,
    )  # fmt: skip
    return [] if found is None else path(tx, key, Place(*found), None)


def tree(tx: Tx, key: int) -> Tree:
    """Every node of the session's own tree (not of sub-agents), parents before children."""
    nodes = tuple(
        NodeRecord(message_of(content), parent_id, copied_from, turn_id)
        for parent_id, copied_from, turn_id, *content in tx.all(_TREE, key)
    )
    head = tx.one(
        "SELECT m.id FROM session s JOIN message m ON m.session_key = s.key AND m.branch = s.branch "
        "AND m.depth = s.depth WHERE s.key = ?",
        key,
    )
    return Tree(head[0] if head is not None else None, nodes, tuple(compactions(tx, key)))


def compactions(tx: Tx, key: int) -> list[dict[str, Any]]:
    """What each `context.replaced` told of the session's own tree, in order, with `summary_id` (X20, X21)."""
    told = tx.all(_COMPACTIONS, key, events.CONTEXT_REPLACED)
    found = ({"summary_id": summary_id, **stored_json(data)} for summary_id, data in told if data is not None)
    return [each for each in found if events.SUB_EXECUTION not in each]


def answer_of(
    answer_id: str | None, content: str | None, parts: str | None, chars: int | None
) -> tuple[str | None, str | None]:
    """The text the user saw of a message, its first `chars` characters (null: all of them), and the message's id.

    No text is no answer: then both are null.
    """
    body: Content = stored_json(parts) if parts is not None else content
    text = text_of(body)[:chars]
    return (text, answer_id) if text else (None, None)


def message_at(tx: Tx, key: int, id_: str) -> Message:
    """A recorded message by its id, a copy with its original's content."""
    row = tx.one(f"SELECT {CONTENT} FROM message m {ORIGINAL} WHERE m.session_key = ? AND m.id = ?", key, id_)
    if row is None:
        raise LookupError(f"message {id_} is not recorded")
    return message_of(row)
