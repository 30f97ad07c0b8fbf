"""Turns: listed, read, traced, and what each model call was sent."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from agentflow.server.call import Here
from agentflow.server.wire import documented
from agentflow.server.wire.answers import answer
from agentflow.server.wire.paths import SessionId, TurnId

router = APIRouter(tags=["turns"])


@router.get(
    "/sessions/{session_id:name}/turns",
    response_model=documented.Steps,
    summary="The steps of a session's turns, and what waits.",
)
async def turns(call: Here, session_id: SessionId) -> Response:
    status = await call.visible(session_id)
    session = await call.runtime.session(session_id)
    return answer({"session_id": session_id, "steps": session["steps"], "queue": status["queue"]})


@router.get(
    "/sessions/{session_id:name}/turns/{turn_id:name}",
    response_model=documented.Turn,
    summary="A turn, with its result once it stands still.",
)
async def turn(call: Here, session_id: SessionId, turn_id: TurnId) -> Response:
    await call.visible(session_id)
    return answer(await call.runtime.turn(session_id, turn_id))


@router.get(
    "/sessions/{session_id:name}/turns/{turn_id:name}/trace",
    response_model=documented.Anything,
    summary="What a turn did, in order.",
)
async def trace(call: Here, session_id: SessionId, turn_id: TurnId) -> Response:
    await call.visible(session_id)
    call.subject.refuse_user("traces")
    return answer(await call.runtime.trace(session_id, turn_id))


@router.get(
    "/sessions/{session_id:name}/turns/{turn_id:name}/requests/{number}",
    response_model=documented.Anything,
    summary="What a model call was sent, exactly.",
)
async def request(call: Here, session_id: SessionId, turn_id: TurnId, number: int) -> Response:
    await call.visible(session_id)
    call.subject.refuse_user("requests of models")
    return answer(await call.runtime.records.request(session_id, number, turn=turn_id))
