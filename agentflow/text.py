"""Texts at the entrances: made storable everywhere, and cut without breaking a character (T43)."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

MAX_JSON_DEPTH = 64

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*"?|[\[{]|[\]}]', re.DOTALL)  # texts are passed over whole


def sanitise(text: str) -> str:
    """The text with surrogate pairs joined, lone halves replaced by U+FFFD and NUL removed."""
    if (text.isascii() and "\x00" not in text) or _UNSTORABLE.search(text) is None:
        return text
    joined = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return joined.replace("\x00", "")


def sanitise_json(value: Any) -> Any:
    """The same for every string of a JSON value, keys included; other values are returned as they are."""
    if isinstance(value, str):
        return sanitise(value)
    if isinstance(value, dict):
        return {sanitise(key) if isinstance(key, str) else key: sanitise_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [sanitise_json(item) for item in value]
    return value


def preview(text: str, limit: int = 200) -> str:
    """At most `limit` characters of the text, with an ellipsis where it was cut."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def one_line(text: str) -> str:
    """The text with its lines joined by spaces, blank ones left out."""
    return " ".join(line.strip() for line in text.splitlines() if line.strip())


def cut_middle(text: str, limit: int) -> str:
    """Head and tail of a text over `limit` characters, with a notice that names the original size; 0 = no limit."""
    if not limit or len(text) <= limit:
        return text
    notice = f"\n[... cut: the full text has {len(text)} characters ...]\n"
    room = max(limit - len(notice), 0)
    head = room - room // 3
    return text[:head] + notice + (text[-(room - head) :] if room > head else "")


class StreamSanitiser:
    """`sanitise` over a text that comes in pieces: a pair split between two pieces is joined, not replaced."""

    __slots__ = ("_held",)

    def __init__(self) -> None:
        self._held = ""

    def feed(self, piece: str) -> str:
        """The piece made storable; a high surrogate at its end waits for the next one."""
        if self._held:
            piece, self._held = self._held + piece, ""
        if piece and "\ud800" <= piece[-1] <= "\udbff":
            piece, self._held = piece[:-1], piece[-1]
        return sanitise(piece)

    def end(self) -> str:
        """What was still held when the text ended."""
        held, self._held = self._held, ""
        return sanitise(held)


_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def compact_json(value: Any) -> str:
    """Compact JSON text as every JSON column holds it."""
    return _encode(value)


def read_json(text: str | bytes) -> Any:
    """The value of a JSON text from outside. Raises `ValueError`, for more than `MAX_JSON_DEPTH` levels too (Z3)."""
    written = text if isinstance(text, str) else text.decode("utf-8-sig")
    if written.count("[") + written.count("{") > MAX_JSON_DEPTH and _depth(written) > MAX_JSON_DEPTH:
        raise ValueError(f"it is nested more than {MAX_JSON_DEPTH} levels deep")
    return json.loads(written)


def _depth(text: str) -> int:
    """How deep the brackets of a JSON text go, known without following them."""
    deepest = depth = 0
    for found in _BRACKETS.finditer(text):
        sign = found[0]
        if sign in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif sign in "]}":
            depth -= 1
    return deepest


def digest(text: str) -> str:
    """The hash under which a text is stored once (R3)."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]
