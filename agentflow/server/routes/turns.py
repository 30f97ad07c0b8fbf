"""Turns: listed, read, traced, and what each model call was sent."""

from __future__ import annotations

import re
from typing import Annotated

from fastapi import APIRouter, Query
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


@router.get(
    "/sessions/{session_id:name}/diff",
    response_model=documented.Anything,
    summary="What two turns sent to their models, call by call.",
)
async def diff(
    call: Here,
    session_id: SessionId,
    a: str,
    b: str,
    model_call: Annotated[int | None, Query(alias="call", ge=1, le=2**31)] = None,
) -> Response:
    await call.visible(session_id)
    call.subject.refuse_user("requests of models")
    first, second = (session_id, numbered(a)), (session_id, numbered(b))
    return answer(await call.runtime.records.diff(first, second, call=model_call))


@router.get(
    "/sessions/{session_id:name}/blobs/{digest:name}",
    response_model=documented.Blob,
    summary="A text that requests or results of this session name by its hash; a file of its messages as it is.",
)
async def blob(call: Here, session_id: SessionId, digest: str) -> Response:
    await call.visible(session_id)
    if digest.startswith("file-"):
        found = await call.runtime.records.file(session_id, digest)
        named = {"content-disposition": f'attachment; filename="{digest}"', "cache-control": "private, immutable"}
        return Response(found["data"], 200, named, found["media_type"])
    call.subject.refuse_user("texts by their hash")
    return answer(await call.runtime.records.blob(session_id, digest))


def numbered(turn: str) -> int | str:
    """A turn as a query names it: by its number in the session or by one of its ids."""
    return int(turn) if _NUMBER.fullmatch(turn) else turn


_NUMBER = re.compile("[1-9][0-9]{0,8}")
