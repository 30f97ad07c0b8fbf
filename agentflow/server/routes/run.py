"""POST /run: one user message to an agent."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from pydantic import Field
from starlette.responses import Response

from agentflow.clock import uuid7
from agentflow.server.call import Call, Starting
from agentflow.server.wire.answers import answer, turn_stream
from agentflow.server.wire.documented import Result
from agentflow.server.wire.json_route import JsonRoute
from agentflow.server.wire.keyed import IdempotencyKey, checked, named_by
from agentflow.server.wire.paths import session_name
from agentflow.server.wire.shapes import Shape

router = APIRouter(route_class=JsonRoute, tags=["turns"])


class Run(Shape):
    """One user message, a text or a message with parts."""

    agent_id: str
    message: str | dict[str, Any]
    session_id: str | None = Field(None, description="A new session without; the same request again has the same.")
    inputs: dict[str, Any] | None = Field(None, description="What the agent declares under `inputs`.")
    turn_id: str | None = Field(None, description="Names the request: sent again it is answered again, run once.")
    limits: dict[str, Any] | None = Field(None, description="Overrides limits of the agent's settings for this turn.")
    owner: str | None = Field(None, description="The user a backend asks for; the first one owns the session.")
    stream: bool = Field(True, description="Events as they come; else the result once the turn stands still.")


@router.post("/run", response_model=Result, summary="Send one message and follow its turn.")
async def run(call: Starting, body: Run, idempotency_key: IdempotencyKey = None) -> Response:
    turn_id = body.turn_id or named_by(call, checked(idempotency_key), "run", body.session_id or "")
    session_id = _new_session(call, turn_id) if body.session_id is None else session_name(body.session_id)
    message = {"role": "user", "content": body.message} if isinstance(body.message, str) else body.message
    given = {
        "type": "client.message", "agent_id": body.agent_id, "message": message, "inputs": body.inputs,
        "turn_id": turn_id, "limits": body.limits,
    }  # fmt: skip
    call.subject.refuse_input(given)
    user = call.subject.acting_for(body.owner)
    receipt = await call.runtime.submit(session_id, given, owner=user, roles=call.subject.roles)
    if body.stream:
        return await turn_stream(call, receipt)
    return answer((await call.runtime.result(session_id, receipt.turn_id)).as_dict())


def _new_session(call: Call, turn_id: str | None) -> str:
    """An id of its own; the same for the same request of the same subject, which its turn's id names."""
    return named_by(call, turn_id, "session") or uuid7()
