"""Reading what model and tool calls left behind, for the next ones."""

from __future__ import annotations

from agentflow.context.tokens import Report
from agentflow.conversation.tree import Place
from agentflow.store.reads.messages import LINE
from agentflow.store.reads.questions import asked_call
from agentflow.store.records import CallLeftOpen
from agentflow.store.sql.transaction import Tx

# The place a call was made at stands on the path when its branch does, no deeper than the path follows it.
_REPORT = f"""
{LINE}
SELECT c.input, c.request_chars FROM line JOIN llm_call c
ON c.session_key = ? AND c.branch = line.number AND c.depth <= line.last
JOIN execution e ON e.session_key = c.session_key AND e.number = c.execution
WHERE c.purpose = 'main' AND c.status = 'completed' AND (e.parent IS NULL OR e.number = ?)
ORDER BY c.depth DESC, c.turn DESC, c.execution DESC, c.step DESC, c.iteration DESC LIMIT 1
"""
_LEFT_OPEN = """
SELECT c.id, c.name, c.handler, reply.calls FROM tool_call c
JOIN turn ON turn.session_key = c.session_key AND turn.number = c.turn
JOIN message reply ON reply.session_key = c.session_key AND reply.id = c.reply_id
WHERE c.session_key = ? AND turn.id = ? AND turn.state = 'running'
AND c.handler IS NOT NULL AND c.status IN ('planned', 'started') AND c.ok IS NULL ORDER BY reply.depth, c.id
"""
_OPEN = "SELECT id FROM tool_call WHERE session_key = ? AND execution = ? AND status IN ('planned', 'started')"
_SHOWN = """
SELECT c.id, c.checkpoint FROM llm_call c JOIN turn ON turn.session_key = c.session_key AND turn.number = c.turn
WHERE c.session_key = ? AND turn.id = ? AND c.execution = turn.execution AND c.purpose = 'main'
AND c.status = 'requested' AND c.checkpoint IS NOT NULL ORDER BY c.requested_at, c.id
"""
_CALL_IDS = "SELECT id FROM tool_call WHERE session_key = ? AND execution = ? ORDER BY id"


def report(tx: Tx, key: int, head: Place | None, execution: int) -> Report | None:
    """What the last completed main call on the path to `head` said and sent, null when there was none (X5)."""
    if head is None:
        return None
    row = tx.one(_REPORT, head.depth, key, head.branch, key, key, execution)
    return None if row is None else Report(row[0], row[1] or 0)


def left_open(tx: Tx, key: int, turn_id: str) -> list[CallLeftOpen]:
    """The calls of a turn whose results come from outside and have not come yet."""
    return [
        CallLeftOpen(asked_call({"tool_call_id": id_}, name, calls), handler)
        for id_, name, handler, calls in tx.all(_LEFT_OPEN, key, turn_id)
    ]


def shown(tx: Tx, key: int, turn_id: str) -> list[tuple[str, str]]:
    """`(call id, text so far)` of the replies that a turn's own run is getting, as they were last kept (T30)."""
    return [(str(id_), str(text)) for id_, text in tx.all(_SHOWN, key, turn_id)]


def call_ids(tx: Tx, key: int, execution: int) -> list[str]:
    """The ids of the tool calls of an execution."""
    return [str(id_) for (id_,) in tx.all(_CALL_IDS, key, execution)]


def open_calls(tx: Tx, key: int, execution: int) -> list[str]:
    """The ids of the tool calls of an execution that have no result yet."""
    return [str(id_) for (id_,) in tx.all(_OPEN, key, execution)]
