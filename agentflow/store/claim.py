"""The claim: one transaction that makes a session ours and opens a turn, or says why not (T4, T27-T30, C18, C19).

In order: the session's row is locked or made; another agent's name, a request made before and a live turn are
answered; a turn whose owner is gone is repaired; the input is composed against the path of this moment; turn,
step, execution and the first model call are recorded.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from agentflow import events
from agentflow.clock import SECOND, Instant
from agentflow.conversation.inbox import ClientMessage
from agentflow.conversation.repair import INTERRUPTED, OpenCall, close
from agentflow.conversation.tree import Place
from agentflow.errors import SessionAgentMismatch, TurnAlreadyActive
from agentflow.events import LogEntry
from agentflow.message import ExecutionStatus, Message, ToolCallStatus, Usage
from agentflow.store import rows
from agentflow.store.protocol import Claim, Claimed, Replayed
from agentflow.store.rows import Row, dumps, message_row
from agentflow.store.transaction import Tx

BUSY = "A request is already being processed for this session"

_SESSION = (
    "SELECT key, agent, branch, depth, seq, epoch, turn, owner, lease_until, turns, steps, executions, branches "
    "FROM session WHERE id = ?"
)
_NEW_SESSION = (
    "INSERT INTO session (id, agent, environment, created_at, updated_at, seq, epoch, turns, steps, executions, "
    "branches) VALUES (?, ?, ?, ?, ?, 0, 0, 0, 0, 0, 0) ON CONFLICT (id) DO NOTHING"
)
_CLAIM = (
    "UPDATE session SET branch = ?, depth = ?, seq = ?, epoch = epoch + 1, turn = ?, owner = ?, lease_until = ?, "
    "stop_turn = NULL, turns = ?, steps = ?, executions = ?, branches = ?, updated_at = ? WHERE key = ? AND epoch = ?"
)


@dataclass(slots=True)
class _Session:
    """The session's row while the claim works on it, and what the claim will write."""

    key: int
    agent: str
    branch: int | None
    depth: int | None
    seq: int
    epoch: int
    turn: int | None
    owner: str | None
    lease_until: int | None
    turns: int
    steps: int
    executions: int
    branches: int
    created: bool = False
    rows: list[Row] = field(default_factory=list)

    @property
    def head(self) -> Place | None:
        return None if self.branch is None or self.depth is None else Place(self.branch, self.depth)


def claim(tx: Tx, request: Claim) -> Claimed | Replayed:
    """Run the claim. Raises `SessionAgentMismatch` and `TurnAlreadyActive`; then nothing is written."""
    session = _locked(tx, request)
    if session.agent != request.agent:
        raise SessionAgentMismatch(
            f"Session {request.session_id!r} belongs to agent {session.agent!r}, not {request.agent!r}; "
            "use a new session id for another agent.",
            detail={"session_id": request.session_id, "agent_id": session.agent},
        )
    replayed = _replay(tx, session, request)
    if replayed is not None:
        return replayed
    if session.turn is None:
        return _begin(tx, session, request, None, ())
    turn_id = tx.one("SELECT id FROM turn WHERE session_key = ? AND number = ?", session.key, session.turn)[0]
    _refuse_busy(session, request, turn_id)
    repaired = _repair(tx, session, request, session.turn, turn_id)
    return _begin(tx, session, request, turn_id, repaired)


def _locked(tx: Tx, request: Claim) -> _Session:
    select = _SESSION + (" FOR UPDATE" if tx.is_postgres else "")
    row = tx.one(select, request.session_id)
    if row is not None:
        return _Session(*row)
    made = tx.execute(_NEW_SESSION, request.session_id, request.agent, request.environment, request.at, request.at)
    session = _Session(*tx.one(select, request.session_id))
    session.created = made == 1
    return session


def _replay(tx: Tx, session: _Session, request: Claim) -> Replayed | None:
    """The turn that this request already has, by its turn id or by the id of its only message (C19)."""
    if session.created:
        return None
    found = None
    if request.turn_id_given:
        found = tx.one("SELECT id, after_seq FROM turn WHERE session_key = ? AND id = ?", session.key, request.turn_id)
    elif isinstance(request.input, ClientMessage) and request.input.message.id:
        found = tx.one(
            "SELECT turn.id, turn.after_seq FROM message JOIN turn ON turn.session_key = message.session_key "
            "AND turn.number = message.turn WHERE message.session_key = ? AND message.id = ?",
            session.key,
            request.input.message.id,
        )
    return None if found is None else Replayed(*found)


def _refuse_busy(session: _Session, request: Claim, turn_id: str) -> None:
    owner, lease_until = session.owner or "", session.lease_until or 0
    if request.alive(owner, lease_until, turn_id):
        wait = max(lease_until - request.at, 0) / SECOND
        raise TurnAlreadyActive(
            f"{BUSY}: turn {turn_id} of session {request.session_id!r} is running. Wait for it to end, or stop it.",
            detail={"session_id": request.session_id, "turn_id": turn_id, "retry_after": round(wait, 3)},
        )


def _begin(
    tx: Tx, session: _Session, request: Claim, repaired_turn: str | None, repaired: Sequence[LogEntry]
) -> Claimed:
    at, previous, after_seq = request.at, session.head, session.seq
    session.turns += 1
    session.steps += 1
    session.executions += 1
    turn, step, execution = session.turns, session.steps, session.executions
    log: list[LogEntry] = []
    if session.created:
        log.append(events.plain(events.SESSION_CREATED, {"agent_id": request.agent}))
    log.append(events.plain(events.TURN_STARTED, {"turn_id": request.turn_id, "config_hash": request.config[0]}))
    messages = _new_messages(tx, session, request)
    config_hash, config_text = request.config
    session.rows += (
        rows.InsertBlob(config_hash, config_text),
        rows.InsertTurn(
            turn, request.turn_id, request.begin[1], config_hash, at,
            dumps(request.request) if request.request else None, after_seq,
        ),
        rows.InsertExecution(execution, turn, request.agent, config_hash, ExecutionStatus.RUNNING, at),
    )  # fmt: skip
    _record(tx, session, messages, turn, execution, log)
    head_id = messages[-1].id if messages else _head_id(tx, session)
    user = next((message.id for message in reversed(messages) if message.role == "user"), None)
    session.rows.append(rows.InsertStep(step, turn, request.begin[1], at, user))
    log.append(events.step_started(step))
    call_id = _first_call(session, request, turn, step, execution, log)
    _write(tx, session, request, turn, log)
    return Claimed(
        session.key, session.epoch + 1, turn, request.turn_id, step, execution, previous, session.head,
        head_id, session.branches, messages, call_id, session.seq, tuple(log), repaired_turn, tuple(repaired),
    )  # fmt: skip


def _first_call(
    session: _Session, request: Claim, turn: int, step: int, execution: int, log: list[LogEntry]
) -> str | None:
    if request.call_model is None:
        return None
    call_id = request.new_id()
    session.rows.append(
        rows.InsertLlmCall(
            call_id, turn, execution, step, 1, "main", request.call_model, "requested", request.at,
            session.branch, session.depth,
        )
    )  # fmt: skip
    log.append(events.llm_call_requested(call_id, 1, "main", request.call_model))
    return call_id


def _new_messages(tx: Tx, session: _Session, request: Claim) -> tuple[Message, ...]:
    """The input's messages that the session does not have yet, each with an id (C3, C7)."""
    delivered = request.input.message if isinstance(request.input, ClientMessage) else None
    given: Sequence[Any] = (delivered,) if delivered is not None else request.input.messages  # type: ignore[union-attr]
    taken: set[str] = set()
    fresh: list[Message] = []
    for message in given:
        if message.id and (message.id in taken or _recorded(tx, session, message.id)):
            continue
        named = message if message.id else _with_id(message, request.new_id())
        taken.add(named.id)
        fresh.append(named)
    return tuple(fresh)


def _recorded(tx: Tx, session: _Session, message_id: str) -> bool:
    known = "SELECT 1 FROM message WHERE session_key = ? AND id = ?"
    return not session.created and tx.one(known, session.key, message_id) is not None


def _with_id(message: Message, id_: str) -> Message:
    return Message(id_, message.role, message.content, message.tool_calls, message.tool_call_id, message.name)


def _record(
    tx: Tx, session: _Session, messages: Iterable[Message], turn: int, execution: int, log: list[LogEntry]
) -> None:
    """Write messages as a chain under the head, in the branch whose tip it is or in a new one (C5)."""
    parent = None
    for message in messages:
        if parent is None and session.head is not None:
            parent = _fork_unless_tip(tx, session)
        if session.branch is None or session.depth is None:
            _new_branch(session, None, 0)
        session.depth = (session.depth or 0) + 1
        session.rows.append(message_row(message, session.branch or 0, session.depth, turn, execution))
        log.append(events.message_new(message, parent))
        parent = message.id


def _head_id(tx: Tx, session: _Session) -> str | None:
    row = tx.one(
        "SELECT id FROM message WHERE session_key = ? AND branch = ? AND depth = ?",
        session.key,
        session.branch,
        session.depth,
    )
    return None if row is None else str(row[0])


def _fork_unless_tip(tx: Tx, session: _Session) -> str:
    """The id of the head's message; when something already follows it on its branch, a new branch forks there."""
    here = tx.all(
        "SELECT depth, id FROM message WHERE session_key = ? AND branch = ? AND depth BETWEEN ? AND ? ORDER BY depth",
        session.key, session.branch, session.depth, (session.depth or 0) + 1,
    )  # fmt: skip
    if len(here) > 1:
        _new_branch(session, session.branch, session.depth or 0)
    return str(here[0][1])


def _new_branch(session: _Session, parent: int | None, fork_depth: int) -> None:
    session.branches += 1
    session.branch, session.depth = session.branches, fork_depth
    session.rows.append(rows.InsertBranch(session.branches, parent, fork_depth))


def _write(tx: Tx, session: _Session, request: Claim, turn: int, log: Sequence[LogEntry]) -> None:
    session.seq += len(log)
    tx.execute(
        _CLAIM, session.branch, session.depth, session.seq, turn, request.owner, request.lease_until, session.turns,
        session.steps, session.executions, session.branches, request.at, session.key, session.epoch,
    )  # fmt: skip
    tx.write(session.key, session.rows)
    tx.log(session.key, session.seq, turn, request.at, log)


def _repair(tx: Tx, session: _Session, request: Claim, turn: int, turn_id: str) -> list[LogEntry]:
    """Close the turn of an owner that is gone (T30). Idempotent: it is part of the claim or it has not happened."""
    step, execution = _last_step(tx, session, turn)
    open_calls = [
        OpenCall(found[0], found[1], found[2], ToolCallStatus(found[3]))
        for found in tx.all(
            "SELECT execution, id, name, status FROM tool_call WHERE session_key = ? AND turn = ? "
            "AND status IN ('planned', 'started') ORDER BY execution, id",
            session.key,
            turn,
        )
    ]
    open_streams = tx.all(
        "SELECT id, checkpoint, execution FROM llm_call WHERE session_key = ? AND turn = ? AND status = 'requested'",
        session.key, turn,
    )  # fmt: skip
    seen = next((text or "" for _, text, of in open_streams if of == execution), "")
    closing = close(open_calls, seen, "the process running this turn ended unexpectedly.", marker=INTERRUPTED)
    log: list[LogEntry] = []
    for call, text in closing.results:
        result = Message(request.new_id(), "tool", text, (), call.id, call.name)
        _record(tx, session, [result], turn, call.execution, log)
        session.rows.append(
            rows.EndToolCall(ToolCallStatus.CLOSED, None, 0, result.id, None, 0, call.execution, call.id, call.status)
        )
        log.append(events.tool_call_ended(result, ok=False))
    for call_id, _, _ in open_streams:
        session.rows.append(_lost_call(call_id))
        log.append(events.plain(events.LLM_CALL_ERRORED, {"call_id": call_id, "code": "interrupted"}))
    answer_id = None
    if closing.text is not None:
        answer = Message(open_streams[0][0], "assistant", closing.text)
        _record(tx, session, [answer], turn, execution, log)
        answer_id = answer.id
    log += _end_dead_turn(tx, session, request, turn, turn_id, step, answer_id, closing.answer_chars)
    session.seq += len(log)
    tx.write(session.key, session.rows)
    tx.log(session.key, session.seq, turn, request.at, log)
    session.rows.clear()
    return log


def _last_step(tx: Tx, session: _Session, turn: int) -> tuple[int, int]:
    step = tx.one("SELECT max(number) FROM step WHERE session_key = ? AND turn = ?", session.key, turn)
    execution = tx.one("SELECT min(number) FROM execution WHERE session_key = ? AND turn = ?", session.key, turn)
    return step[0], execution[0]


def _lost_call(call_id: str) -> rows.EndLlmCall:
    """A stream nobody saw the end of: its usage is unknown, never 0 (X6)."""
    return rows.EndLlmCall(
        "aborted", None, None, None, None, None, None, None, None, None, None, None, None,
        dumps({"code": "interrupted"}), None, call_id,
    )  # fmt: skip


def _end_dead_turn(
    tx: Tx, session: _Session, request: Claim, turn: int, turn_id: str, step: int, answer_id: str | None, chars: int
) -> list[LogEntry]:
    from_state, to_state = request.repair
    spent = tx.one(
        "SELECT sum(input), sum(output), sum(cache_read), sum(cache_write) FROM llm_call "
        "WHERE session_key = ? AND turn = ?",
        session.key,
        turn,
    )
    at: Instant = request.at
    session.rows += (
        rows.EndTurn(to_state, at, None, None, *(_whole(n) for n in spent), None, turn, from_state),
        rows.EndStep(to_state, at, None, answer_id, chars, step),
    )
    for (execution,) in tx.all(
        "SELECT number FROM execution WHERE session_key = ? AND turn = ? AND status = ?",
        session.key, turn, ExecutionStatus.RUNNING,
    ):  # fmt: skip
        session.rows.append(rows.MoveExecution(ExecutionStatus.ABORTED, None, execution))
    seen = _seen_text(session.rows, answer_id, chars)
    return [
        events.plain(events.STEP_COMPLETED, {"order": step, "state": to_state}),
        events.turn_completed(to_state, Usage(*(_whole(n) for n in spent)), None),
        events.done(turn_id, seen, to_state, step),
    ]


def _whole(value: Any) -> int | None:
    return None if value is None else int(value)


def _seen_text(written: Iterable[Row], answer_id: str | None, chars: int) -> str | None:
    for row in written:
        if isinstance(row, rows.InsertMessage) and row.id == answer_id:
            return (row.content or "")[:chars]
    return None
