"""Results of calls that were left open, given from outside the turn (C20, C33, C39).

That of a worker's call waits in the call's own row until the process that runs the turn records it, or whatever closes
the turn (C34); that of a client's call is recorded at once. The first one counts. The session's row is locked, as by
all that closes a call: who comes second sees it.
"""

from __future__ import annotations

from agentflow.conversation.inbox import ClientAppend
from agentflow.errors import CallNotFound, InvalidInput, no_session
from agentflow.message import Message, ToolCallStatus
from agentflow.store.outcomes import Claimed, Settled
from agentflow.store.requests import Settle
from agentflow.store.session.client_results import Call, call_of, refuse_expired, refuse_other
from agentflow.store.session.open_step import OpenStep
from agentflow.store.session.refusals import refuse_busy
from agentflow.store.session.session_row import SessionRow
from agentflow.store.sql.transaction import Tx
from agentflow.tools.results import ToolResult
from agentflow.tools.tool import CLIENT

_GIVE = (
    "UPDATE tool_call SET ok = ?, full_result = ? "
    "WHERE session_key = ? AND execution = ? AND id = ? AND status = ? AND ok IS NULL"
)


def settle(tx: Tx, request: Settle) -> Settled:
    """Give an open call its result. One whose call is closed, or whose place left the path, is ignored.

    Raises `SessionNotFound`, `CallNotFound`, `InvalidInput` for a call of a tool that is run here,
    `CallAlreadyAnswered` for one that has another result, and `QuestionExpired`.
    """
    session = SessionRow.locked(tx, request.session_id)
    if session is None:
        raise no_session(request.session_id)
    detail = {"session_id": request.session_id, "call_id": request.call_id}
    call = call_of(tx, session.key, request.call_id)
    if call is None:
        raise CallNotFound(f"Session {request.session_id!r} has no tool call {request.call_id!r}.", detail=detail)
    if call.handler != CLIENT and call.name not in request.tools.get(call.agent, ()):
        raise InvalidInput(
            f"The call {request.call_id!r} is of {call.name!r}, which is left neither to a worker nor to the client.",
            detail=detail,
        )
    if call.status in (ToolCallStatus.CLOSED, ToolCallStatus.VOIDED):
        refuse_expired(tx, session.key, request.call_id, call)
        return Settled(call.turn_id, "ignored")
    if call.status == ToolCallStatus.FINISHED or call.ok is not None:
        refuse_other(tx, session.key, request.call_id, call, ToolResult(request.ok, request.text))
        return Settled(call.turn_id, "replayed")
    if call.handler == CLIENT:
        return _of_client(tx, session, request, call)
    given = (int(request.ok), request.text, session.key, call.execution, request.call_id, ToolCallStatus.STARTED)
    return Settled(call.turn_id, "settled" if tx.execute(_GIVE, *given) == 1 else "ignored")


def _of_client(tx: Tx, session: SessionRow, request: Settle, call: Call) -> Settled:
    """The turn that waits for its client goes on once no other call of it is open (C39)."""
    owning = request.owning
    if session.turn is not None:
        running = session.turn_id(tx)
        if owning.alive(session.owner or "", session.lease_until or 0, running):
            if session.turn == call.turn:  # its other calls run first
                refuse_busy(session, request.session_id, running, owning.at)
            return Settled(call.turn_id, "ignored")
    opened = OpenStep(tx, session, owning)
    opened.repair_dead()
    opened.expire_question()
    opened.stop_as_asked()
    paused = opened.paused_here()
    if paused is None or paused.turn != call.turn:
        started = opened.first_waiting()
        if started is None:
            session.release()
            session.save(tx, owning.at)
        return Settled(call.turn_id, "ignored", started, opened.expired)
    message = Message("", "tool", request.text, (), request.call_id, call.name, error=not request.ok)
    begun = opened.begin(ClientAppend(messages=(message,)), call.turn_id)
    return Settled(call.turn_id, "settled", begun if isinstance(begun, Claimed) else None)


def give_up(tx: Tx, key: int, execution: int, call_id: str, text: str) -> tuple[bool, str] | None:
    """Give an open call its error result because its time is over, by the same update: a result from outside that was
    there first counts. Null for a call that is open no more.
    """
    tx.execute(_GIVE, 0, text, key, execution, call_id, ToolCallStatus.STARTED)
    return settlement(tx, key, execution, call_id)


def settlement(tx: Tx, key: int, execution: int, call_id: str) -> tuple[bool, str] | None:
    """`(ok, text)` of a call that was settled from outside and is not recorded yet."""
    row = tx.one(
        "SELECT ok, full_result FROM tool_call WHERE session_key = ? AND execution = ? AND id = ? AND ok IS NOT NULL",
        key, execution, call_id,
    )  # fmt: skip
    return None if row is None else (bool(row[0]), str(row[1]))
