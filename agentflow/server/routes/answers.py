"""What routes answer with: JSON, and the events of a turn as a stream."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from agentflow import Receipt
from agentflow.server.call import Call
from agentflow.server.encoding import json_bytes
from agentflow.server.streams.cursor import Start
from agentflow.server.streams.event_stream import EventStream
from agentflow.server.streams.session_events import Wanted, event_frames

STREAM = "text/event-stream"


def answer(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A JSON answer."""
    return Response(json_bytes(value), status, dict(headers or {}), "application/json")


def wants_stream(accept: str | None) -> bool:
    """Whether a request asks for events as they come."""
    return accept is not None and STREAM in accept.lower()


def stream(call: Call, wanted: Wanted, headers: Mapping[str, str] | None = None) -> EventStream:
    """The events asked for, to whoever made this call."""
    frames = event_frames(call.runtime, wanted)
    return EventStream(frames, call.serving.stream_of(call.subject), (call.serving.closes,), dict(headers or {}))


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
