"""Turns that somebody else must close: of a dead owner, and paused ones that are stopped or expired (T25, T30).

Run inside the transaction that claims or stops the session: it happens whole or not at all, and a second run finds
nothing left to do.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from agentflow import events
from agentflow.clock import Instant, NewId
from agentflow.conversation.repair import INTERRUPTED, OpenCall, close
from agentflow.errors import AgentflowError
from agentflow.message import ExecutionStatus, Message, ToolCallStatus, TurnState, Usage
from agentflow.store import rows
from agentflow.store.session.session_row import SessionRow
from agentflow.store.sql.transaction import Tx
from agentflow.text import compact_json
from agentflow.turn_table import Trigger, move

_REPAIR = move(TurnState.RUNNING, Trigger.REPAIR)
_STOP_PAUSED = move(TurnState.PAUSED_ASK_USER, Trigger.STOP)
_DIED = "the process running this turn ended unexpectedly."


@dataclass(frozen=True, slots=True)
class _Left:
    """What a turn left open. `streams` are `(id, text of the last checkpoint, execution)`."""

    turn_id: str
    step: int
    execution: int
    calls: Sequence[OpenCall]
    streams: Sequence[tuple[str, str | None, int]]


def repair(tx: Tx, session: SessionRow, turn: int, at: Instant, new_id: NewId) -> str:
    """Close the turn of an owner that is gone (T30); returns its id. Its entries are staged in `work`."""
    left = _left(tx, session.key, turn)
    heard = _heard(tx, session.key, turn, left)
    shown, seen, of = next((stream for stream in left.streams if stream[2] in heard and stream[1]), ("", "", 0))
    closing = close(left.calls, seen or "", _DIED, marker=INTERRUPTED)
    _close_calls(tx, session, turn, left.execution, closing.results, new_id)
    for call_id, _, _ in left.streams:
        session.rows.append(_lost_call(call_id))
        session.tell(events.plain(events.LLM_CALL_ERRORED, {"call_id": call_id, "code": "interrupted"}))
    _close_phases(tx, session, turn)
    answer = None
    if closing.text is not None:
        answer = Message(shown if of == left.execution else new_id(), "assistant", closing.text)
        session.record(tx, [answer], turn, left.execution, head_id(tx, session))
    _end(tx, session, turn, left, _REPAIR, at, answer, closing.answer_chars, None)
    return left.turn_id


def _close_phases(tx: Tx, session: SessionRow, turn: int) -> None:
    """Say that the history was kept where making room had begun, in the main run or in a sub-agent's (X20)."""
    told = tx.all(
        "SELECT type, data FROM event WHERE session_key = ? AND turn = ? AND type IN (?, ?, ?) "
        "AND seq > (SELECT after_seq FROM turn WHERE session_key = ? AND number = ?) ORDER BY seq",
        session.key, turn, events.CONTEXT_LIMITED, events.CONTEXT_REPLACED, events.CONTEXT_KEPT, session.key, turn,
    )  # fmt: skip
    last = {json.loads(data).get(events.SUB_EXECUTION): type_ for type_, data in told if data is not None}
    for execution in (execution for execution, type_ in last.items() if type_ == events.CONTEXT_LIMITED):
        kept = events.context_kept("interrupted")
        session.tell(kept if execution is None else events.of_execution(kept, execution))


def _heard(tx: Tx, key: int, turn: int, left: _Left) -> set[int]:
    """The executions whose text the user reads: the main one, and those that the turn was handed to (T34)."""
    heard = {left.execution}
    handing = {(call.execution, call.id) for call in left.calls if call.name == "delegate"}
    below = "SELECT number, parent, parent_call_id FROM execution WHERE session_key = ? AND turn = ? ORDER BY number"
    for number, parent, call_id in tx.all(below, key, turn):
        if parent in heard and (parent, call_id) in handing:
            heard.add(number)
    return heard


def repair_and_release(tx: Tx, session: SessionRow, at: Instant, new_id: NewId) -> None:
    """Close the dead turn that has the session, and let nobody have it; the session's row is left to `save`."""
    turn = session.turn or 0
    repair(tx, session, turn, at, new_id)
    session.flush(tx, turn, at)
    session.release()
    session.epoch += 1


def close_paused(
    tx: Tx, session: SessionRow, turn: int, at: Instant, new_id: NewId, why: str, marker: str | None,
    error: AgentflowError | None,
) -> str:  # fmt: skip
    """Close a paused turn: its question gets a placeholder result (T25); returns the turn's id."""
    left = _left(tx, session.key, turn)
    closing = close(left.calls, "", why, marker=marker, always=marker is not None)
    _close_calls(tx, session, turn, left.execution, closing.results, new_id)
    for execution, call_id in tx.all(
        "SELECT execution, call_id FROM question WHERE session_key = ? AND turn = ? AND state = 'pending'",
        session.key, turn,
    ):  # fmt: skip
        state = "stopped" if error is None else "expired"
        session.rows.append(rows.MoveQuestion(state, execution, call_id, "pending"))
    answer = None
    if closing.text is not None:
        answer = Message(new_id(), "assistant", closing.text)
        session.record(tx, [answer], turn, left.execution, head_id(tx, session))
    _end(tx, session, turn, left, _STOP_PAUSED, at, answer, closing.answer_chars, error)
    return left.turn_id


def head_id(tx: Tx, session: SessionRow) -> str | None:
    """The id of the message the path ends in: the last one staged, else the recorded one."""
    for row in reversed(session.rows):
        if isinstance(row, rows.InsertMessage) and (row.branch, row.depth) == session.head:
            return row.id
    place = "SELECT id FROM message WHERE session_key = ? AND branch = ? AND depth = ?"
    row = tx.one(place, session.key, session.branch, session.depth)
    return None if row is None else str(row[0])


def _left(tx: Tx, key: int, turn: int) -> _Left:
    of_turn = "WHERE session_key = ? AND turn = ?"
    calls = tx.all(
        f"SELECT execution, id, name, status FROM tool_call {of_turn} AND status IN ('planned', 'started') "
        "ORDER BY execution, id",
        key, turn,
    )  # fmt: skip
    return _Left(
        tx.one("SELECT id FROM turn WHERE session_key = ? AND number = ?", key, turn)[0],
        tx.one(f"SELECT max(number) FROM step {of_turn}", key, turn)[0],
        tx.one(f"SELECT min(number) FROM execution {of_turn}", key, turn)[0],
        [OpenCall(execution, id_, name, ToolCallStatus(status)) for execution, id_, name, status in calls],
        tx.all(f"SELECT id, checkpoint, execution FROM llm_call {of_turn} AND status = 'requested'", key, turn),
    )


def _close_calls(
    tx: Tx, session: SessionRow, turn: int, main: int, results: Sequence[tuple[OpenCall, str]], new_id: NewId
) -> None:
    """Placeholder results, each on the path of the run that asked."""
    for call, text in results:
        result = Message(new_id(), "tool", text, (), call.id, call.name)
        ended = events.tool_call_ended(result, ok=False)
        if call.execution == main:
            session.record(tx, [result], turn, main, head_id(tx, session))
            session.tell(ended)
        else:
            session.record_below(tx, result, turn, call.execution, ended)
        session.rows.append(
            rows.EndToolCall(ToolCallStatus.CLOSED, None, 0, result.id, None, 0, call.execution, call.id, call.status)
        )


def _lost_call(call_id: str) -> rows.EndLlmCall:
    """A stream nobody saw the end of: its usage is unknown, never 0 (X6)."""
    return rows.EndLlmCall(
        "aborted", None, None, None, None, None, None, None, None, None, None, None, None,
        compact_json({"code": "interrupted"}), None, call_id,
    )  # fmt: skip


def _end(
    tx: Tx, session: SessionRow, turn: int, left: _Left, moved: tuple[TurnState, TurnState], at: Instant,
    answer: Message | None, chars: int, error: AgentflowError | None,
) -> None:  # fmt: skip
    from_state, to_state = moved
    usage = turn_usage(tx, session.key, turn)
    failure = None if error is None else error.as_dict()
    session.ended_at, session.outcome = at, to_state
    session.rows += (
        rows.EndTurn(
            to_state, at, compact_json(failure) if failure else None, None, usage.input, usage.output, usage.cache_read,
            usage.cache_write, None if usage.cost is None else str(usage.cost), turn, from_state,
        ),
        rows.EndStep(to_state, at, None, answer.id if answer and chars else None, chars, left.step),
    )  # fmt: skip
    open_executions = tx.all(
        "SELECT number FROM execution WHERE session_key = ? AND turn = ? AND status IN (?, ?)",
        session.key, turn, ExecutionStatus.RUNNING, ExecutionStatus.PENDING_USER_INPUT,
    )  # fmt: skip
    for (execution,) in open_executions:
        session.rows.append(rows.MoveExecution(ExecutionStatus.ABORTED, None, execution))
    seen = str(answer.content)[:chars] if answer is not None and chars else None
    session.tell(
        events.plain(events.STEP_COMPLETED, {"order": left.step, "state": to_state}),
        events.turn_completed(to_state, usage, failure),
        events.done(left.turn_id, seen, to_state, left.step, failure=failure),
    )


def turn_usage(tx: Tx, key: int, turn: int) -> Usage:
    """What a turn's model calls reported, summed; costs are decimals in text, so they are added here (X6)."""
    total = Usage()
    for *tokens, cost in tx.all(
        "SELECT input, output, cache_read, cache_write, cost FROM llm_call WHERE session_key = ? AND turn = ?",
        key,
        turn,
    ):
        total += Usage(tokens[0], tokens[1], tokens[2], tokens[3], None if cost is None else Decimal(cost))
    return total
