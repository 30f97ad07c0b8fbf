"""Sessions: listed, read, moved, moved out and in, erased."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from agentflow.server.call import Here, Starting
from agentflow.server.wire import documented
from agentflow.server.wire.answers import answer
from agentflow.server.wire.etags import IfMatch, IfNoneMatch, etag_of, head_of, unless_known
from agentflow.server.wire.keyed import KeyedRoute
from agentflow.server.wire.paths import SessionId, session_name
from agentflow.server.wire.shapes import Shape

router = APIRouter(route_class=KeyedRoute, tags=["sessions"])

PageSize = Annotated[int, Query(ge=1, le=200)]


class Checkout(Shape):
    """The message that the path is to end in."""

    message_id: str


class Stop(Shape):
    """Which turn, the running or paused one without; `drain` empties the queue too."""

    turn_id: str | None = None
    drain: bool = False


class Result(Shape):
    """What a client's tool, or a worker's, came to: its `result`, or the `error` it failed with."""

    result: Any = None
    error: str | None = None


@router.get("/sessions", response_model=documented.SessionPage, summary="The sessions, the most recently used first.")
async def sessions(
    call: Here,
    agent: str | None = None,
    search: str | None = None,
    page_size: PageSize = 50,
    page_token: str | None = None,
    owner: str | None = None,
) -> Response:
    user = call.subject.acting_for(owner)
    page = await call.runtime.sessions(agent=agent, search=search, limit=page_size, cursor=page_token, owner=user)
    return answer({"sessions": list(page), "more": page.more, "next_page_token": page.cursor})


@router.get(
    "/sessions/{session_id:name}",
    response_model=documented.Session,
    summary="A session: status, messages of the path, steps, totals.",
)
async def session(call: Here, session_id: SessionId, all: bool = False, if_none_match: IfNoneMatch = None) -> Response:
    status = await call.visible(session_id)
    if (known := unless_known(status, if_none_match)) is not None:
        return known
    return answer(await call.runtime.session(session_id, all=all), headers=etag_of(status))


@router.delete("/sessions/{session_id:name}", status_code=204, summary="Erase a session.")
async def delete(call: Here, session_id: SessionId) -> Response:
    await call.visible(session_id)
    await call.runtime.delete(session_id)
    return Response(status_code=204)


@router.get(
    "/sessions/{session_id:name}/tree",
    response_model=documented.Tree,
    summary="All messages of a session, with their branches.",
)
async def tree(call: Here, session_id: SessionId, if_none_match: IfNoneMatch = None) -> Response:
    status = await call.visible(session_id)
    if (known := unless_known(status, if_none_match)) is not None:
        return known
    return answer(await call.runtime.tree(session_id), headers=etag_of(status))


@router.get(
    "/sessions/{session_id:name}/explain",
    response_model=documented.Anything,
    summary="What the model would read next, without a call.",
)
async def explain(call: Here, session_id: SessionId) -> Response:
    status = await call.visible(session_id)
    call.subject.refuse_user("reading what the model reads")
    return answer(await call.runtime.explain(status["agent_id"], session_id))


@router.post(
    "/sessions/{session_id:name}/checkout", response_model=documented.Moved, summary="Move the head to a message."
)
async def checkout(call: Starting, session_id: SessionId, body: Checkout, if_match: IfMatch = None) -> Response:
    await call.visible(session_id)
    return answer(await call.runtime.checkout(session_id, body.message_id, if_head=head_of(if_match)))


@router.post(
    "/sessions/{session_id:name}/stop",
    response_model=documented.Stopped,
    summary="Stop a turn, or take back one that waits.",
)
async def stop(call: Here, session_id: SessionId, body: Stop | None = None) -> Response:
    await call.visible(session_id)
    asked = body or Stop()
    return answer(await call.runtime.stop(session_id, asked.turn_id, drain=asked.drain))


@router.post(
    "/sessions/{session_id:name}/calls/{call_id:name}/result",
    response_model=documented.Settled,
    summary="The result of an open call.",
)
async def settle(call: Starting, session_id: SessionId, call_id: str, body: Result) -> Response:
    status = await call.visible(session_id)
    if not any(each["id"] == call_id and each["handler"] == "client" for each in status["open_calls"]):
        call.subject.refuse_user("results of calls that wait for no client")
    return answer(await call.runtime.settle(session_id, call_id, result=body.result, error=body.error))


@router.post("/sessions/{session_id:name}/export", summary="A session as a file.")
async def export(
    call: Here, session_id: SessionId, format: Literal["json", "jsonl", "md", "html"] = "json"
) -> Response:
    await call.visible(session_id)
    call.subject.refuse_user("exports")
    text = await call.runtime.records.export(session_id, format)
    return Response(text, media_type=_FILES[format])


@router.post(
    "/sessions/{session_id:name}/import",
    status_code=201,
    response_model=documented.Imported,
    summary="Bring in an export under this id.",
)
async def import_session(call: Here, request: Request, session_id: SessionId) -> Response:
    call.subject.refuse_user("imports")
    text = (await request.body()).decode("utf-8", "replace")
    return answer(await call.runtime.records.import_session(text, session_id=session_name(session_id)), 201)


_FILES = {
    "json": "application/json",
    "jsonl": "application/x-ndjson",
    "md": "text/markdown; charset=utf-8",
    "html": "text/plain; charset=utf-8",  # a page of a conversation is never shown as a page of this server
}
