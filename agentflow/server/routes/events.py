"""GET /sessions/{id}/events: the log, as a stream or as pages."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header, Query
from starlette.responses import Response

from agentflow.server.call import Here
from agentflow.server.streams.cursor import start_of
from agentflow.server.streams.session_events import PAGE, Wanted, event_page
from agentflow.server.wire import documented
from agentflow.server.wire.answers import answer, stream, wants_stream
from agentflow.server.wire.paths import SessionId

router = APIRouter(tags=["events"])


@router.get(
    "/sessions/{session_id:name}/events",
    response_model=documented.EventPage,
    summary="The events of a session or of one of its turns.",
)
async def events(
    call: Here,
    session_id: SessionId,
    after: Annotated[int | None, Query(ge=0, le=2**62)] = None,
    turn_id: str | None = None,
    follow: bool = False,
    page_size: Annotated[int, Query(ge=1, le=PAGE)] = 100,
    accept: Annotated[str | None, Header()] = None,
    last_event_id: Annotated[str | None, Header()] = None,
) -> Response:
    status = await call.visible(session_id)
    begin = 0
    if turn_id is not None:
        begin = (await call.runtime.turn(session_id, turn_id))["after_seq"]
    start = start_of(last_event_id, after, begin=begin, seq=status["seq"], log_id=status["log_id"])
    if wants_stream(accept):
        return stream(call, Wanted(session_id, status["log_id"], start, turn_id, follow))
    wanted = Wanted(session_id, status["log_id"], start)
    return answer(await event_page(call.runtime, wanted, page_size))
