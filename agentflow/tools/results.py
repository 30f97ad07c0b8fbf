"""What a flow returned, or failed with, as the text a model reads. Pure."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from datetime import date, time
from enum import Enum
from inspect import isawaitable
from typing import Any

from agentflow.text import preview, sanitise, sanitise_json

_ERROR_CHARS = 2000


@dataclasses.dataclass(frozen=True, slots=True)
class ToolResult:
    """The outcome of one call. `text` is what the model reads; `full` is the whole text when that had to be cut (T43).

    `altered` says that sanitising changed the text; `error_code` is null exactly when `ok`.
    """

    ok: bool
    text: str
    full: str | None = None
    altered: bool = False
    error_code: str | None = None


class Unreadable(Exception):
    """A value a model cannot be given."""


def success(value: Any) -> ToolResult:
    """The result for a returned value; raises `Unreadable`, or whatever a broken `__str__` raises."""
    text = as_text(value)
    clean = sanitise(text)
    if "\\u0000" in clean and not isinstance(value, str):
        clean = _without_escaped_nul(clean)
    return ToolResult(True, clean, altered=clean != text)


def _without_escaped_nul(text: str) -> str:
    """JSON writes a NUL as an escape, which would become one again at whoever parses the text."""
    try:
        return _dumped(sanitise_json(json.loads(text)))
    except ValueError:  # the `str()` of something, where it is just these characters
        return text


def failure(error: BaseException) -> ToolResult:
    """The result for a raised exception: its type and message, bounded, without a traceback."""
    if isinstance(error, Unreadable):
        return refused(str(error), "unreadable_result")
    try:
        message = str(error)
    except BaseException:  # the exception class is the flow author's code as well
        message = ""
    name = type(error).__name__
    return refused(f"{name}: {message}" if message else name, "tool_failed")


def refused(sentence: str, code: str) -> ToolResult:
    """An error result of ours with a sentence for the model."""
    text = f"Error: {preview(sentence, _ERROR_CHARS)}"
    clean = sanitise(text)
    return ToolResult(False, clean, altered=clean != text, error_code=code)


def as_text(value: Any) -> str:
    """Text as it is, nothing for None, compact JSON in the author's own key order, `str()` for what has no JSON.

    Raises `Unreadable` for bytes and for an awaitable nobody awaited.
    """
    if isinstance(value, str):
        return str.__str__(value)
    if value is None:
        return ""
    if isinstance(value, bytes | bytearray | memoryview):
        raise Unreadable(f"the flow returned {len(value)} bytes; a flow returns text or JSON values")
    if isawaitable(value):
        _close(value)
        raise Unreadable("the flow returned an awaitable; declare the flow with `async def`")
    try:
        return _dumped(value)
    except (TypeError, ValueError, RecursionError):  # odd keys, NaN, cycles
        return str(value)


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_plain)


def _close(awaitable: Any) -> None:
    close = getattr(awaitable, "close", None)
    if close is not None:
        close()


def _plain(value: Any) -> Any:
    """One level of a value `json` does not know."""
    if hasattr(value, "model_dump"):  # a pydantic model, recognised without importing pydantic
        return value.model_dump(mode="json")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, set | frozenset):
        return sorted(value, key=str)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, bytes | bytearray | memoryview):
        return f"<{len(value)} bytes>"
    return str(value)
