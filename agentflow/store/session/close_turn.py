"""Turns that are closed because they do not end by themselves (T24, T25, T30).

A turn is failed, stopped or given up by the process that runs it, repaired when that process has died, stopped or
expired while it is paused: what is open of it stands in its rows, and one function closes them all. Run inside the
transaction that ends, claims or stops the session, it happens whole or not at all; a second run finds nothing left.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from agentflow import events
from agentflow.clock import Instant, NewId
from agentflow.conversation.repair import INTERRUPTED, ClosedCall, Given, OpenCall, close
from agentflow.errors import AgentflowError
from agentflow.events import ModelCall
from agentflow.message import EXECUTION_OF, ExecutionStatus, Message, ToolCallStatus, TurnState, Usage
from agentflow.store.ended.turn_ended import turn_ended
from agentflow.store.outcomes import Closed
from agentflow.store.requests import Close, Seen
from agentflow.store.rows import changes, inserts
from agentflow.store.session.session_row import SessionRow
from agentflow.store.sql.transaction import Tx
from agentflow.text import compact_json, stored_json
from agentflow.turn_table import Trigger, move

_REPAIR = Close(
    Trigger.REPAIR, "the process running this turn ended unexpectedly.", {"code": "interrupted"}, INTERRUPTED
)
_OF_TURN = "WHERE session_key = ? AND turn = ?"


@dataclass(frozen=True, slots=True)
class _Stream:
    """A model call without an end, and the text of its last checkpoint."""

    call: ModelCall
    execution: int
    text: str


@dataclass(frozen=True, slots=True)
class _Left:
    """What a turn left open; `executions` of it, the main one first, `running` those that have not ended."""

    turn_id: str
    step: int
    main: int
    running: Sequence[int]
    calls: Sequence[OpenCall]
    streams: Sequence[_Stream]
    questions: Sequence[tuple[int, str]]


def close_running(tx: Tx, session: SessionRow, turn: int, at: Instant, new_id: NewId, how: Close) -> Closed:
    """Close a running turn and write that; the session's row is left to `save`."""
    return _close(tx, session, turn, at, new_id, how, TurnState.RUNNING)


def repair(tx: Tx, session: SessionRow, turn: int, at: Instant, new_id: NewId) -> Closed:
    """Close the turn of an owner that is gone (T30)."""
    return close_running(tx, session, turn, at, new_id, _REPAIR)


def repair_and_release(tx: Tx, session: SessionRow, at: Instant, new_id: NewId) -> None:
    """Close the dead turn that has the session, and let nobody have it; the session's row is left to `save`."""
    repair(tx, session, session.turn or 0, at, new_id)
    session.release()
    session.epoch += 1


def close_paused(
    tx: Tx, session: SessionRow, turn: int, at: Instant, new_id: NewId, why: str, marker: str | None,
    error: AgentflowError | None,
) -> Closed:  # fmt: skip
    """Close a paused turn: its question gets a placeholder result (T25)."""
    failure = None if error is None else error.as_dict()
    lost = {"code": "interrupted"}
    how = Close(Trigger.STOP, why, lost, marker, always=marker is not None, failure=failure)
    return _close(tx, session, turn, at, new_id, how, TurnState.PAUSED_ASK_USER)


def _close(tx: Tx, session: SessionRow, turn: int, at: Instant, new_id: NewId, how: Close, state: TurnState) -> Closed:
    left = _left(tx, session.key, turn)
    seen = how.seen or _checkpoint(tx, session.key, turn, left, new_id)
    unrecorded = "" if seen is None or seen.is_recorded else seen.text
    closing = close(left.calls, unrecorded, how.why, marker=how.marker, always=how.always)
    _close_calls(tx, session, turn, left.main, closing.results, new_id)
    for stream in left.streams:
        session.rows.append(_lost(stream, how))
        session.tell(_of(events.llm_call_errored(stream.call, dict(how.lost), Usage()), stream.execution, left))
    _close_phases(tx, session, turn)
    for execution, call_id in left.questions:
        session.rows.append(
            changes.MoveQuestion("stopped" if how.failure is None else "expired", execution, call_id, "pending")
        )
    answered = (seen.message_id, seen.text) if seen is not None and seen.is_recorded else None
    if closing.text is not None:
        message_id = new_id() if seen is None else seen.message_id
        message = Message(message_id, "assistant", closing.text)
        session.record(tx, [message], turn, left.main, head_id(tx, session))
        answered = (message_id, closing.text[: closing.answer_chars])
    closed = _end(tx, session, turn, at, left, how, state, answered)
    log = tuple(session.flush(tx, turn, at))
    if turn_ended(tx, session.key, turn):
        session.head = None
    return closed._replace(log=log)


def _close_phases(tx: Tx, session: SessionRow, turn: int) -> None:
    """Say that the history was kept where making room had begun, in the main run or in a sub-agent's (X20)."""
    told = tx.all(
        "SELECT type, data FROM event WHERE session_key = ? AND turn = ? AND type IN (?, ?, ?) "
        "AND seq > (SELECT after_seq FROM turn WHERE session_key = ? AND number = ?) ORDER BY seq",
        session.key, turn, events.CONTEXT_LIMITED, events.CONTEXT_REPLACED, events.CONTEXT_KEPT, session.key, turn,
    )  # fmt: skip
    last = {stored_json(data).get(events.SUB_EXECUTION): type_ for type_, data in told if data is not None}
    for execution in (execution for execution, type_ in last.items() if type_ == events.CONTEXT_LIMITED):
        kept = events.context_kept("interrupted")
        session.tell(kept if execution is None else events.of_execution(kept, execution))


def _of(entry: events.LogEntry, execution: int, left: _Left) -> events.LogEntry:
    return entry if execution == left.main else events.of_execution(entry, execution)


def _checkpoint(tx: Tx, key: int, turn: int, left: _Left, new_id: NewId) -> Seen | None:
    """The text of an open stream that the user reads: the main agent's, or of one the turn was handed to (T34)."""
    if not any(stream.text for stream in left.streams):
        return None
    heard = {left.main}
    handing = {(call.execution, call.id) for call in left.calls if call.name == "delegate"}
    below = f"SELECT number, parent, parent_call_id FROM execution {_OF_TURN} AND number >= ? ORDER BY number"
    for number, parent, call_id in tx.all(below, key, turn, left.main):
        if parent in heard and (parent, call_id) in handing:
            heard.add(number)
    for stream in left.streams:
        if stream.execution in heard and stream.text:
            return Seen(stream.call.call_id if stream.execution == left.main else new_id(), stream.text)
    return None


def head_id(tx: Tx, session: SessionRow) -> str | None:
    """The id of the message the path ends in: the last one staged, else the recorded one."""
    for row in reversed(session.rows):
        if isinstance(row, inserts.InsertMessage) and (row.branch, row.depth) == session.head:
            return row.id
    place = "SELECT id FROM message WHERE session_key = ? AND branch = ? AND depth = ?"
    row = tx.one(place, session.key, session.branch, session.depth)
    return None if row is None else str(row[0])


def _left(tx: Tx, key: int, turn: int) -> _Left:
    """Read from where the turn began: what other turns left is not looked at (R4)."""
    turn_id, first_step, main, after_seq = tx.one(
        "SELECT id, first_step, coalesce(execution, 0), after_seq FROM turn WHERE session_key = ? AND number = ?",
        key, turn,
    )  # fmt: skip
    calls = tx.all(
        f"SELECT execution, id, name, status, ok, full_result FROM tool_call {_OF_TURN} AND execution >= ? "
        "AND status IN ('planned', 'started') ORDER BY execution, id",
        key, turn, main,
    )  # fmt: skip
    streams = tx.all(
        "SELECT llm_call.id, iteration, purpose, model, execution, checkpoint FROM event JOIN llm_call "
        "ON llm_call.session_key = event.session_key AND llm_call.id = event.ref "
        "WHERE event.session_key = ? AND event.seq > ? AND event.turn = ? AND event.type = ? "
        "AND llm_call.status = 'requested' ORDER BY requested_at, llm_call.id",
        key, after_seq, turn, events.LLM_CALL_REQUESTED,
    )  # fmt: skip
    ran = f"SELECT number, status FROM execution {_OF_TURN} AND number >= ? ORDER BY number"
    executions = tx.all(ran, key, turn, main)
    unended = (ExecutionStatus.RUNNING, ExecutionStatus.PENDING_USER_INPUT)
    return _Left(
        turn_id,
        tx.one(f"SELECT max(number) FROM step {_OF_TURN} AND number >= ?", key, turn, first_step)[0],
        executions[0][0],
        [number for number, status in executions if status in unended],
        [
            OpenCall(execution, id_, name, ToolCallStatus(status), None if ok is None else Given(bool(ok), text or ""))
            for execution, id_, name, status, ok, text in calls
        ],
        [_Stream(ModelCall(*call), execution, text or "") for *call, execution, text in streams],
        tx.all(
            f"SELECT execution, call_id FROM question {_OF_TURN} AND execution >= ? AND state = 'pending'",
            key, turn, main,
        ),
    )  # fmt: skip


def _close_calls(
    tx: Tx, session: SessionRow, turn: int, main: int, results: Sequence[ClosedCall], new_id: NewId
) -> None:
    """One result for each call, on the path of the run that asked."""
    for closed in results:
        call = closed.call
        result = Message(new_id(), "tool", closed.text, (), call.id, call.name)
        ended = events.tool_call_ended(result, ok=closed.ok)
        if call.execution == main:
            session.record(tx, [result], turn, main, head_id(tx, session))
            session.tell(ended)
        else:
            session.record_below(tx, result, turn, call.execution, ended)
        session.rows.append(
            changes.EndToolCall(
                closed.status, None, int(closed.ok), result.id, closed.full, 0, call.execution, call.id, call.status
            )
        )


def _lost(stream: _Stream, how: Close) -> changes.EndLlmCall:
    """A stream nobody saw the end of: its usage is unknown, never 0 (X6)."""
    return changes.EndLlmCall(
        "aborted", *(None,) * 13, compact_json(dict(how.lost)), None, None, stream.call.call_id,
    )  # fmt: skip


def _end(
    tx: Tx, session: SessionRow, turn: int, at: Instant, left: _Left, how: Close, state: TurnState,
    answered: tuple[str, str] | None,
) -> Closed:  # fmt: skip
    from_state, to_state = move(state, how.trigger)
    usage = turn_usage(tx, session.key, turn)
    failure = None if how.failure is None else dict(how.failure)
    answer_id, answer = answered if answered is not None and answered[1] else (None, None)
    session.ended_at, session.outcome = at, to_state
    session.rows += (
        changes.EndTurn(
            to_state, at, compact_json(failure) if failure else None, how.limit, usage.input, usage.output,
            usage.cache_read, usage.cache_write, None if usage.cost is None else str(usage.cost), turn, from_state,
        ),
        changes.EndStep(to_state, at, how.first_token_ms, answer_id, len(answer or ""), left.step),
    )  # fmt: skip
    for execution in left.running:
        status = EXECUTION_OF[to_state] if execution == left.main else ExecutionStatus.ABORTED
        session.rows.append(changes.MoveExecution(status, None, execution))
    if failure is not None and to_state == TurnState.FAILED:
        session.tell(events.error(failure))
    session.tell(
        events.plain(events.STEP_COMPLETED, {"order": left.step, "state": to_state}),
        events.turn_completed(to_state, usage, failure),
        events.done(left.turn_id, answer, to_state, left.step, limit=how.limit, failure=failure),
    )
    return Closed(left.turn_id, answer_id, answer)


def turn_usage(tx: Tx, key: int, turn: int) -> Usage:
    """What a turn's model calls reported, summed; costs are decimals in text, so they are added here (X6).

    They are found by the turn's entries in the log: its own calls are looked at, no others (R4).
    """
    return _sum(
        tx.all(
            "SELECT llm_call.input, llm_call.output, cache_read, cache_write, cost FROM event JOIN llm_call "
            "ON llm_call.session_key = event.session_key AND llm_call.id = event.ref WHERE event.session_key = ? "
            "AND event.seq > (SELECT after_seq FROM turn WHERE session_key = ? AND number = ?) "
            "AND event.turn = ? AND event.type = ?",
            key, key, turn, turn, events.LLM_CALL_REQUESTED,
        )
    )  # fmt: skip


def naming_usage(tx: Tx, key: int) -> Usage:
    """What the calls used that name the session; they are of no turn, which has the number 0."""
    of_none = "SELECT input, output, cache_read, cache_write, cost FROM llm_call WHERE session_key = ? AND turn = 0"
    return _sum(tx.all(of_none, key))


def _sum(calls: Iterable[Sequence[Any]]) -> Usage:
    total = Usage()
    for *tokens, cost in calls:
        total += Usage(tokens[0], tokens[1], tokens[2], tokens[3], None if cost is None else Decimal(cost))
    return total
