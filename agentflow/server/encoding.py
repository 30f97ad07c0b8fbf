"""JSON as it leaves the server: compact, and without what some readers of streams take for the end of a line (S6)."""

from __future__ import annotations

import json
from typing import Any

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_LINE_ENDS = {ord(sign): f"\\u{ord(sign):04x}" for sign in "\x85\u2028\u2029"}


def json_bytes(value: Any) -> bytes:
    """The value as JSON text in UTF-8; half a surrogate pair, which no text of ours has, would be escaped."""
    written = _encode(value)
    if not written.isascii():
        written = written.translate(_LINE_ENDS)
    return written.encode("utf-8", "backslashreplace")
