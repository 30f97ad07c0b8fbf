"""Results of calls that were left open, given from outside the turn (C20, C33).

The result waits in the call's own row until the process that runs the turn records it, or whatever closes the turn
(C34); the first one counts. The session's row is locked, as by all that closes a call: who comes second sees it.
"""

from __future__ import annotations

from agentflow.errors import CallNotFound, InvalidInput, SessionNotFound
from agentflow.message import ToolCallStatus
from agentflow.store.records import Settled
from agentflow.store.requests import Settle
from agentflow.store.session.session_row import SessionRow
from agentflow.store.sql.transaction import Tx

_CALL = """
SELECT tool_call.execution, execution.agent, tool_call.name, tool_call.status, tool_call.ok, turn.id FROM tool_call
JOIN turn ON turn.session_key = tool_call.session_key AND turn.number = tool_call.turn
JOIN execution ON execution.session_key = tool_call.session_key AND execution.number = tool_call.execution
WHERE tool_call.session_key = ? AND tool_call.id = ? ORDER BY tool_call.turn DESC LIMIT 1
"""
_GIVE = (
    "UPDATE tool_call SET ok = ?, full_result = ? "
    "WHERE session_key = ? AND execution = ? AND id = ? AND status = ? AND ok IS NULL"
)


def settle(tx: Tx, request: Settle) -> Settled:
    """Give an open call its result. One that has a result, or whose place left the path, is left alone.

    Raises `SessionNotFound`, `CallNotFound`, and `InvalidInput` for a call of a tool that is run here.
    """
    session = SessionRow.locked(tx, request.session_id)
    if session is None:
        raise SessionNotFound(f"There is no session {request.session_id!r}.", detail={"session_id": request.session_id})
    detail = {"session_id": request.session_id, "call_id": request.call_id}
    found = tx.one(_CALL, session.key, request.call_id)
    if found is None:
        raise CallNotFound(f"Session {request.session_id!r} has no tool call {request.call_id!r}.", detail=detail)
    execution, agent, name, status, ok, turn_id = found
    if name not in request.tools.get(agent, ()):
        raise InvalidInput(
            f"The call {request.call_id!r} is of {name!r}, which is not left to a worker.", detail=detail
        )
    if status != ToolCallStatus.STARTED or ok is not None:
        return Settled(turn_id, taken=False)
    given = (int(request.ok), request.text, session.key, execution, request.call_id, ToolCallStatus.STARTED)
    return Settled(turn_id, taken=tx.execute(_GIVE, *given) == 1)


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
