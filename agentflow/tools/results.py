"""What a flow returned, or failed with, as the text a model reads. Pure."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from agentflow.bounds import json_slices
from agentflow.bounds.weight import TooMuch, weigh
from agentflow.conversation.wire import refuse
from agentflow.media.files import File
from agentflow.message import Content
from agentflow.secrets.redacting import told
from agentflow.text import LONG_TEXT, cut_middle, preview, sanitise, sanitise_json, size_in_bytes
from agentflow.tools.plain_values import MAX_LEVELS, PlainValues, Unreadable, dumped, is_plain

MAX_STORED_BYTES = 5_000_000
_ERROR_CHARS = 2000


@dataclasses.dataclass(frozen=True, slots=True)
class ToolResult:
    """The outcome of one call. `text` is what the model reads; `full` is the whole text when that had to be cut (T43).

    `altered` says that sanitising changed the text; `error_code` is null exactly when `ok`. `parts` are the files that
    come with it, as references and notes, `files` their bytes (W4).
    """

    ok: bool
    text: str
    full: str | None = None
    altered: bool = False
    error_code: str | None = None
    parts: tuple[dict[str, Any], ...] = ()
    files: tuple[File, ...] = ()

    @property
    def content(self) -> Content:
        """What the result's message says."""
        return [{"type": "text", "text": self.text}, *self.parts] if self.parts else self.text


def success(value: Any) -> ToolResult:
    """The result for a returned value; raises `Unreadable`, or whatever a broken `__str__` raises."""
    if value is None or isinstance(value, str):
        return _stored("" if value is None else str.__str__(value))
    if is_plain(value):
        return _stored(dumped(value), from_json=True)
    plain = PlainValues()
    text = dumped(plain.of(value))
    notes = "".join(f"\n[{note}]" for note in plain.notes)
    return _stored(text, notes, from_json=True)


def settled(value: Any) -> ToolResult:
    """The result of a call that was left open, as it is given from outside. Raises `InvalidInput` (Z3)."""
    try:
        weigh(value)
        return success(value)
    except TooMuch as much:
        refuse("result", f"{much}.")
    except Unreadable as unreadable:
        refuse("result", f"must be text or JSON, not {str(unreadable).removeprefix('the flow returned ')}.")


def _stored(text: str, notes: str = "", *, from_json: bool = False) -> ToolResult:
    """The text made storable, cut where it is more than is stored (Z3)."""
    clean = sanitise(text)
    if from_json and "\\u0000" in clean:
        clean = _without_escaped_nul(clean)
    altered = clean != text
    size = len(clean) if len(clean) * 4 <= MAX_STORED_BYTES else size_in_bytes(clean)
    if size > MAX_STORED_BYTES:
        clean = cut_middle(clean, MAX_STORED_BYTES * len(clean) // size)
    return ToolResult(True, clean + notes, altered=altered)


def _without_escaped_nul(text: str) -> str:
    """JSON writes a NUL as an escape, which would become one again at whoever parses the text."""
    long = len(text) > LONG_TEXT
    value = json_slices.read(text, most_values=len(text), most_levels=MAX_LEVELS) if long else json.loads(text)
    return dumped(sanitise_json(value))


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
    text = f"Error: {preview(told(sentence), _ERROR_CHARS)}"
    clean = sanitise(text)
    return ToolResult(False, clean, altered=clean != text, error_code=code)
