"""What of a request decides which reply was recorded for it, and how two requests differ. Pure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from agentflow.models.protocol import ModelRequest
from agentflow.secrets.redacting import redact_json
from agentflow.text import compact_json, preview

_VOLATILE = (
    (re.compile(r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b"), "<id>"),
    (re.compile(r"\b\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})?"), "<time>"),
)
_OF_THE_PROVIDER = ("thinking_blocks", "reasoning_content")  # they come with the reply before and hold signatures
_SHOWN = 120


@dataclass(frozen=True, slots=True)
class Asked:
    """A request without what differs each time it is made: `parts` are its tools and then each message, by hash."""

    purpose: str
    parts: tuple[str, ...]


def comparable(request: ModelRequest, today: date) -> tuple[Asked, dict[str, Any]]:
    """The request to look for, and its parts by hash, secrets taken out.

    Ids of calls count by the order they come in; UUIDs and times with a clock in texts are all alike, and so is the
    date of the day on which the request is made, which prompts say.
    """
    numbers: dict[str, str] = {}
    messages = (steady(_message(message, numbers), today) for message in request.messages)
    values = [redact_json(list(request.tools)), *messages]
    parts = {_hash(value): value for value in values}
    return Asked(request.purpose, tuple(map(_hash, values))), parts


def nearest(asked: Asked, recorded: Sequence[Asked]) -> Asked | None:
    """The recorded request that has most in common with this one, null when there is none."""
    wanted = set(asked.parts)

    def likeness(other: Asked) -> tuple[bool, int, int]:
        return other.purpose == asked.purpose, len(wanted & set(other.parts)), -len(other.parts)

    return max(recorded, key=likeness, default=None)


def difference(asked: Asked, other: Asked, parts: Mapping[str, Any]) -> str:
    """The first place where a request differs from a recorded one, as a sentence for people."""
    if asked.purpose != other.purpose:
        return f"it was made for {other.purpose}, this one for {asked.purpose}"
    for index, (ours, theirs) in enumerate(zip(asked.parts, other.parts, strict=False)):
        if ours != theirs:
            where = f"message {index} ({parts[ours].get('role', '')})" if index else "the list of tools"
            now, then = _around(compact_json(parts[ours]), compact_json(parts[theirs]))
            return f"{where} is now {now!r} and was {then!r}"
    return f"it had {len(other.parts) - 1} messages, this one has {len(asked.parts) - 1}"


def _message(message: Mapping[str, Any], numbers: dict[str, str]) -> dict[str, Any]:
    kept = {key: value for key, value in message.items() if key not in _OF_THE_PROVIDER}
    if "tool_calls" in kept:
        kept["tool_calls"] = [{**call, "id": _numbered(call["id"], numbers)} for call in kept["tool_calls"]]
    if "tool_call_id" in kept:
        kept["tool_call_id"] = _numbered(kept["tool_call_id"], numbers)
    return kept


def _numbered(call_id: str, numbers: dict[str, str]) -> str:
    return numbers.setdefault(call_id, f"call-{len(numbers) + 1}")


def steady(value: Any, today: date) -> Any:
    """JSON without what differs each time it is said, and without secrets."""
    return _steady(redact_json(value), today.isoformat())


def _steady(value: Any, today: str) -> Any:
    if isinstance(value, str):
        for pattern, instead in _VOLATILE:
            value = pattern.sub(instead, value)
        return value.replace(today, "<today>")
    if isinstance(value, dict):
        return {key: _steady(item, today) for key, item in value.items()}
    return [_steady(item, today) for item in value] if isinstance(value, list) else value


def _hash(value: Any) -> str:
    return hashlib.sha256(compact_json(value).encode()).hexdigest()[:24]


def _around(now: str, then: str) -> tuple[str, str]:
    """Both texts from shortly before the first character in which they differ."""
    same = next((at for at, pair in enumerate(zip(now, then, strict=False)) if pair[0] != pair[1]), 0)
    start = max(same - _SHOWN // 4, 0)
    return preview(now[start:], _SHOWN), preview(then[start:], _SHOWN)
