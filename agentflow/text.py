"""Texts at the entrances: made storable everywhere, and cut without breaking a character (T43)."""

from __future__ import annotations

import json
import re
from typing import Any

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


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
