"""A session's events for one reader: as frames of a stream, or as a page of JSON (S6)."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, cast

from agentflow import AgentflowError, Event, Runtime, SessionNotFound
from agentflow.server.streams.cursor import Start
from agentflow.server.streams.frames import RETRY, event_frame, frame

PAGE = 500


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which events: of a session, from where on, of one turn or all, with those to come or not."""

    session_id: str
    log_id: str
    start: Start
    turn_id: str | None = None
    follow: bool = False


def _events(runtime: Runtime, wanted: Wanted) -> AsyncGenerator[Event]:
    told = runtime.events(wanted.session_id, wanted.start.after, wanted.turn_id, follow=wanted.follow)
    return cast("AsyncGenerator[Event]", told)


async def event_frames(runtime: Runtime, wanted: Wanted) -> AsyncGenerator[bytes]:
    """What is asked for as frames; what goes wrong on the way is a last frame, `closed {reason}`."""
    yield RETRY
    if wanted.start.resync:
        yield frame("resync", {"session_id": wanted.session_id, "after": wanted.start.after})
    try:
        async with aclosing(_events(runtime, wanted)) as events:
            async for event in events:
                yield event_frame(event, wanted.log_id)
    except SessionNotFound:
        yield frame("closed", {"reason": "session_deleted"})
    except AgentflowError as error:
        yield frame("closed", {"reason": error.code, "message": error.message})


async def event_page(runtime: Runtime, wanted: Wanted, size: int) -> dict[str, Any]:
    """`{events, after, more}`: at most `size` of the log's events, and the number to go on after."""
    found: list[dict[str, Any]] = []
    after, more = wanted.start.after, False
    async with aclosing(_events(runtime, wanted)) as events:
        async for event in events:
            if event.seq is None:
                continue
            if len(found) == size:
                more = True
                break
            found.append(event.as_dict())
            after = event.seq
    return {"session_id": wanted.session_id, "events": found, "after": after, "more": more}
