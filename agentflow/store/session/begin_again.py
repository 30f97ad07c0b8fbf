"""A turn whose process died before it called a model or a hook: its request is recorded, no more has happened (T30).

It is not closed but begins again, before whatever came after it, as the first of a queue would. Its rows stay what
they are: only who runs it and with which configuration is new. It gets this second chance once, so that a turn which
takes its process down cannot keep a session from everybody else.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from agentflow import events
from agentflow.conversation.inbox import TurnOptions
from agentflow.conversation.tree import Place
from agentflow.errors import InvalidInput
from agentflow.message import Message
from agentflow.store.outcomes import Claimed
from agentflow.store.reads.messages import CONTENT, ORIGINAL, message_at
from agentflow.store.requests import Owning
from agentflow.store.rows import inserts
from agentflow.store.rows.messages import message_of
from agentflow.store.session.session_row import SessionRow
from agentflow.store.session.turn_options import read_options
from agentflow.store.sql.transaction import Tx

# Everything a turn leaves behind once it has begun: a model call, a hook, a step that resumed it, a second start.
_OF_TURN = "WHERE session_key = ? AND turn = ?"
_SINCE = "(SELECT {} FROM turn WHERE session_key = ? AND number = ?)"  # rows of earlier turns are not looked at (R4)
_STEPS, _EVENTS = _SINCE.format("first_step"), _SINCE.format("after_seq")
_BEGUN = (
    f"SELECT 1 FROM event {_OF_TURN} AND seq > {_EVENTS} AND type = '{events.LLM_CALL_REQUESTED}' LIMIT 1",
    f"SELECT 1 FROM hook_run {_OF_TURN} AND step >= {_STEPS} LIMIT 1",
    f"SELECT 1 FROM step {_OF_TURN} AND number >= {_STEPS} LIMIT 1 OFFSET 1",
    f"SELECT 1 FROM event {_OF_TURN} AND seq > {_EVENTS} AND type = '{events.TURN_STARTED}' LIMIT 1 OFFSET 1",
)
_TURN = (
    "SELECT turn.id, step.number, execution.number FROM turn "
    "JOIN step ON step.session_key = turn.session_key AND step.turn = turn.number "
    "JOIN execution ON execution.session_key = turn.session_key AND execution.turn = turn.number "
    "WHERE turn.session_key = ? AND turn.number = ?"
)
_MESSAGES = (
    f"SELECT m.depth, {CONTENT} FROM message m {ORIGINAL} "
    "WHERE m.session_key = ? AND m.branch = ? AND m.execution = ? ORDER BY m.depth"
)


@dataclass(frozen=True, slots=True)
class Unbegun:
    """The turn that has the session, and what its claim recorded; inputs and limits are checked anew."""

    turn: int
    turn_id: str
    step: int
    execution: int
    options: TurnOptions


def unbegun(tx: Tx, session: SessionRow, owning: Owning) -> Unbegun | None:
    """The turn of a dead owner that may begin again; null when it has begun or is refused by now."""
    if session.turn is None or any(tx.one(text, *(session.key, session.turn) * 2) is not None for text in _BEGUN):
        return None
    turn_id, step, execution = tx.one(_TURN, session.key, session.turn)
    options = read_options(tx, session.key, session.turn)
    try:
        options = replace(options, inputs=owning.check_inputs(options.inputs))
        owning.config(options.limits)
    except InvalidInput:
        return None
    return Unbegun(session.turn, turn_id, step, execution, options)


def begin_again(tx: Tx, session: SessionRow, owning: Owning, found: Unbegun) -> Claimed:
    """Claim the turn for its new owner. Its first model call is left to the turn itself."""
    config_hash, config_text = owning.config(found.options.limits)
    session.rows.append(inserts.InsertBlob(config_hash, config_text))
    for table in ("turn", "execution"):
        number = found.turn if table == "turn" else found.execution
        tx.execute(
            f"UPDATE {table} SET config_hash = ? WHERE session_key = ? AND number = ?", config_hash, session.key, number
        )
    session.tell(events.turn_started(found.turn_id, config_hash))
    log = tuple(session.flush(tx, found.turn, owning.at))
    session.epoch += 1
    session.owner, session.lease_until, session.stop_turn = owning.owner, owning.lease_until, None
    session.save(tx, owning.at)
    recorded = tx.all(_MESSAGES, session.key, session.branch, found.execution)
    messages = tuple(message_of(row[1:]) for row in recorded)
    head_id = tx.one(
        "SELECT id FROM message WHERE session_key = ? AND branch = ? AND depth = ?",
        session.key,
        session.branch,
        session.depth,
    )
    return Claimed(
        session.key, session.epoch, found.turn, found.turn_id, found.step, found.execution,
        _before(tx, session, recorded[0][0]) if recorded else session.head, session.head,
        None if head_id is None else head_id[0], session.branches, session.executions, found.options, messages, None,
        session.seq, log, forks=not recorded and session.head is not None and not session.is_tip(tx),
        answer=_answer_there(tx, session, messages, head_id), awaits_name=session.awaits_name,
    )  # fmt: skip


def _before(tx: Tx, session: SessionRow, depth: int) -> Place | None:
    """The place above a depth of the head's branch."""
    branch = session.branch or 0
    parent, fork_depth = tx.one(
        "SELECT parent, fork_depth FROM branch WHERE session_key = ? AND number = ?", session.key, branch
    )
    if depth > fork_depth + 1:
        return Place(branch, depth - 1)
    return None if parent is None else Place(parent, fork_depth)


def _answer_there(tx: Tx, session: SessionRow, messages: tuple[Message, ...], head_id: Any) -> Message | None:
    """The assistant message the path ends in, when there is nothing to answer (C13)."""
    if not messages and head_id is None:
        return None
    last = messages[-1] if messages else message_at(tx, session.key, head_id[0])
    return last if last.role == "assistant" and not last.tool_calls else None
