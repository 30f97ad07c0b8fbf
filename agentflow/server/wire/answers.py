"""What routes answer with: JSON, and the events of a turn as a stream."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from functools import partial
from typing import Any

from starlette.responses import Response

from agentflow import Receipt, clock
from agentflow.server.call import Call
from agentflow.server.encoding import json_bytes
from agentflow.server.streams.cursor import Start
from agentflow.server.streams.event_stream import EventStream
from agentflow.server.streams.frames import frame
from agentflow.server.streams.session_events import Wanted, event_frames

STREAM = "text/event-stream"

_LOOK_SECS = 1.0


def answer(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A JSON answer."""
    return Response(json_bytes(value), status, dict(headers or {}), "application/json")


def wants_stream(accept: str | None) -> bool:
    """Whether a request asks for events as they come."""
    return accept is not None and STREAM in accept.lower()


def stream(call: Call, wanted: Wanted, headers: Mapping[str, str] | None = None) -> EventStream:
    """The events asked for, to whoever made this call."""
    return streamed(call, event_frames(call.runtime, wanted), headers)


def streamed(call: Call, frames: AsyncGenerator[bytes], headers: Mapping[str, str] | None = None) -> EventStream:
    """The frames, to whoever made this call, until the server closes or a token is over."""
    ends = (call.serving.closes, *((partial(token_ends, call.subject.ends),) if call.subject.ends is not None else ()))
    return EventStream(frames, call.serving.stream_of(call.subject), ends, dict(headers or {}))


async def token_ends(second: int) -> bytes:
    """Waits until then; the last frame of a stream whose token is over (S10)."""
    while (left := second - clock.instant() / clock.SECOND) > 0:  # noqa: ASYNC110  # the clock may be put forward
        await asyncio.sleep(min(left, _LOOK_SECS))
    return frame("closed", {"reason": "token_expired"})


async def turn_stream(call: Call, receipt: Receipt) -> Response:
    """The events of the turn of a receipt; of a request that ran none, the receipt."""
    if not receipt.turn_id:
        return answer(receipt.as_dict())
    status = await call.runtime.status(receipt.session_id)
    wanted = Wanted(receipt.session_id, status["log_id"], Start(receipt.after_seq), receipt.turn_id)
    return stream(call, wanted, location(call, receipt))


def location(call: Call, receipt: Receipt) -> dict[str, str]:
    """Where the turn of a receipt is."""
    return {"Location": call.turn_address(receipt.session_id, receipt.turn_id)} if receipt.turn_id else {}
