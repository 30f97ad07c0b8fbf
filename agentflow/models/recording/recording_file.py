"""The file of a recording: JSON lines, each part of a request once, and a line for each reply.

The first line is `{"recording": 1}`. Then come `{"part": HASH, "value": ...}`, a message or the list of tools, and
`{"purpose", "model", "parts": [HASH, ...], "reply"}`, whose `reply` has the keys of a reply in a script.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agentflow.errors import InvalidConfig, InvalidInput
from agentflow.models.assembly import RawCall, Reply
from agentflow.models.recording.request import Asked
from agentflow.models.script import Failure, ScriptedReply, read_recorded_reply
from agentflow.secrets.redacting import redact_json
from agentflow.text import compact_json

FIRST = {"recording": 1}


@dataclass(frozen=True, slots=True)
class Recorded:
    """A reply, the request it answered, and the model that gave it."""

    asked: Asked
    model: str
    reply: ScriptedReply


@dataclass(slots=True)
class Recording:
    """All of a file. `parts` has the value of every hash that a request names."""

    parts: dict[str, Any] = field(default_factory=dict)
    replies: list[Recorded] = field(default_factory=list)


def read_recording(path: Path) -> Recording:
    """Raises `InvalidInput` with file and line for whatever is no recording."""
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path}: the recording cannot be read: {error}", detail={"field": "recording"}) from None
    recording = Recording()
    if not lines:
        raise _wrong(path, 1, "is empty; a recording is written by `agentflow run --record FILE`")
    for number, line in enumerate(lines, 1):
        try:
            _take(recording, number, json.loads(line))
        except (ValueError, RecursionError, InvalidConfig) as error:
            raise _wrong(path, number, str(error)) from None
    return recording


def first_line() -> str:
    return compact_json(FIRST) + "\n"


def lines_of(
    asked: Asked, model: str, parts: Mapping[str, Any], reply: Reply, failure: Failure | None, known: set[str]
) -> str:
    """The lines to add for a reply; parts in `known` stand in the file already."""
    new = [{"part": part, "value": parts[part]} for part in dict.fromkeys(asked.parts) if part not in known]
    told = {"purpose": asked.purpose, "model": model, "parts": list(asked.parts), "reply": _written(reply, failure)}
    return "".join(compact_json(line) + "\n" for line in (*new, told))


def append(path: Path, text: str) -> None:
    """Add to the file, which only its owner may read. Raises `OSError`."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    with os.fdopen(descriptor, "wb", buffering=0) as file:  # one write, so that lines of two processes stay whole
        file.write(text.encode())


def _wrong(path: Path, line: int, why: str) -> InvalidInput:
    return InvalidInput(f"{path}:{line}: {why}", detail={"field": "recording", "line": line})


def _take(recording: Recording, number: int, line: Any) -> None:
    if number == 1:
        if line != FIRST:
            raise ValueError(f"is no recording that this version reads: it must begin with {compact_json(FIRST)}")
        return
    if not isinstance(line, dict):
        raise ValueError("must be a JSON object")
    if "part" in line:
        part, value = _of(line, "part", str), line.get("value")
        if not isinstance(value, dict | list):
            raise ValueError("value: must be a message or a list of tools")
        recording.parts[part] = value
        return
    parts = tuple(_of(line, "parts", list))
    if unknown := [part for part in parts if part not in recording.parts]:
        raise ValueError(f"parts: {unknown[0]!r} stands on no line before")
    asked = Asked(_of(line, "purpose", str), parts)
    recording.replies.append(Recorded(asked, _of(line, "model", str), read_recorded_reply(line.get("reply"))))


def _of(line: dict[str, Any], key: str, kind: Callable[..., Any]) -> Any:
    if key not in line or not isinstance(line[key], kind):  # type: ignore[arg-type]  # str or list
        raise ValueError(f"{key}: is missing or of the wrong type")
    return line[key]


def _written(reply: Reply, failure: Failure | None) -> Any:
    usage = {} if reply.usage is None else {k: v for k, v in reply.usage.as_dict().items() if v is not None}
    usage.pop("total", None)
    if reply.usage is not None and reply.usage.cost is not None:
        usage["cost"] = float(reply.usage.cost)  # type: ignore[assignment]  # the other members are counts
    told = {
        "text": reply.text,
        "reasoning": reply.reasoning,
        "tool_calls": [_call(call) for call in reply.tool_calls],
        "finish_reason": reply.finish_reason,
        "provider": reply.provider,
        "error": None if failure is None else _without_null(kind=failure.kind, after=failure.after,
                                                            retry_after=failure.retry_after),
    }  # fmt: skip
    return redact_json({**{key: value for key, value in told.items() if value}, "usage": usage})


def _call(call: RawCall) -> dict[str, Any]:
    return _without_null(id=call.id, name=call.name, arguments=call.arguments)


def _without_null(**values: Any) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}
