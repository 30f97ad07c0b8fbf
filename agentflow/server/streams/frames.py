"""Server-sent events as bytes (S6): one frame an event, no line break where it would begin another field."""

from __future__ import annotations

import re
from typing import Any

from agentflow import Event
from agentflow.server.encoding import json_bytes

RETRY = b"retry: 1000\n\n"
ALIVE = b": still here\n\n"
CLOSING = b": the server closes\n\n"

_RENAMED = {"error": "turn.error"}  # browsers have an event `error` of their own
_LINE_BREAK = re.compile(r"[\r\n\0]+")


def event_frame(event: Event, log_id: str) -> bytes:
    """An event of a session's log: its `id` leads a reader back to it; what is not logged has none."""
    cursor = None if event.seq is None else f"{event.seq}-{log_id}"
    return frame(_RENAMED.get(event.type, event.type), event.as_dict(), cursor)


def frame(name: str, data: Any, cursor: str | None = None) -> bytes:
    """One frame of this name."""
    head = "" if cursor is None else f"id: {_LINE_BREAK.sub(' ', cursor)}\n"
    return f"{head}event: {_LINE_BREAK.sub(' ', name)}\ndata: ".encode() + json_bytes(data) + b"\n\n"
