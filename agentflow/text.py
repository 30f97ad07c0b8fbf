"""Texts at the entrances: made storable everywhere, and cut without breaking a character (T43)."""

from __future__ import annotations

import hashlib
import json
import re
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

from agentflow.bounds import json_slices
from agentflow.bounds.weight import MAX_BYTES, MAX_LEVELS, MAX_VALUES
from agentflow.errors import StoreError

LONG_TEXT = 1_000_000  # characters; what is longer is read on a thread, in small steps

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_TOO_DEEP = f"it is nested more than {MAX_LEVELS} levels deep"


def sanitise(text: str) -> str:
    """The text with surrogate pairs joined, lone halves replaced by U+FFFD and NUL removed."""
    if (text.isascii() and "\x00" not in text) or not _is_unstorable(text):
        return text
    return "".join(map(_storable, _pieces(text)))


def _is_unstorable(text: str) -> bool:
    """Looked for piece by piece: one search of a long text would hold everybody (Z3)."""
    return any(_UNSTORABLE.search(text, start, start + LONG_TEXT) for start in range(0, len(text), LONG_TEXT))


def _storable(piece: str) -> str:
    joined = piece.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return joined.replace("\x00", "")


def _pieces(text: str) -> Iterator[str]:
    """The text in pieces that hold nobody for long, none of which ends within a pair of surrogates."""
    start = 0
    while start < len(text):
        end = start + LONG_TEXT
        if "\ud800" <= text[end - 1 : end] <= "\udbff" and end < len(text):
            end -= 1
        yield text[start:end]
        start = end


def size_in_bytes(text: str) -> int:
    """In UTF-8, counted in steps that hold nobody for long (Z3); the text has no halves of surrogate pairs."""
    if text.isascii():
        return len(text)
    return sum(len(text[start : start + LONG_TEXT].encode()) for start in range(0, len(text), LONG_TEXT))


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


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


_STRICT = json.JSONDecoder(parse_constant=_no_constant, parse_float=json_slices.finite)


def read_json(text: str | bytes, *, most_bytes: int = MAX_BYTES, most_values: int = MAX_VALUES) -> Any:
    """The value of a JSON text from outside.

    Raises `ValueError`, also for more bytes, values or levels (`MAX_LEVELS`) than allowed, and never `RecursionError`.
    A text over `LONG_TEXT` is read in small steps: on a thread it holds nobody (Z3).
    """
    if len(text) > most_bytes:
        raise ValueError(f"it has more than {most_bytes:,} bytes")
    written = text if isinstance(text, str) else text.decode("utf-8-sig")
    if len(written) > LONG_TEXT:
        return json_slices.read(written, most_values=most_values, most_levels=MAX_LEVELS)
    try:
        value = _STRICT.decode(written)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    containers = written.count("[") + written.count("{")
    if containers > MAX_LEVELS or containers + written.count(",") >= most_values:
        _measure(value, most_values)
    return value


_found: OrderedDict[str, bool] = OrderedDict()
_MOST_FOUND = 4096


def holds_object(text: str) -> bool:
    """Whether a text is one JSON object that `read_json` reads; of a long text what was found once is remembered."""
    if len(text) <= LONG_TEXT // 4:
        return _is_object(text)
    key = digest(text)
    if key not in _found:
        _found[key] = _is_object(text)
        while len(_found) > _MOST_FOUND:
            _found.popitem(last=False)
    return _found[key]


def _is_object(text: str) -> bool:
    try:
        return isinstance(read_json(text), dict)
    except ValueError:
        return False


def stored_json(text: str) -> Any:
    """The value of a JSON column. Raises `StoreError` for what is none: a database may come from elsewhere."""
    try:
        value = json.loads(text)
        if text.count("[") + text.count("{") > MAX_LEVELS:
            _measure(value, len(text))
    except (ValueError, RecursionError) as error:
        why = _TOO_DEEP if isinstance(error, RecursionError) else error
        raise StoreError(
            f"A row of the database is damaged: it should hold JSON, and does not ({why}).", detail={"damaged": True}
        ) from None
    return value


def _measure(value: Any, most_values: int) -> None:
    """Level by level, so that the depth of a value costs no depth here."""
    values, levels = 1, 0
    level = [value] if isinstance(value, list | dict) else []
    while level:
        levels, values = levels + 1, values + sum(map(len, level))
        if levels > MAX_LEVELS:
            raise ValueError(_TOO_DEEP)
        if values > most_values:
            raise ValueError(f"it has more than {most_values:,} values")
        held = (item for each in level for item in (each.values() if isinstance(each, dict) else each))
        level = [item for item in held if isinstance(item, list | dict)]


def digest(text: str) -> str:
    """The hash under which a text is stored once (R3)."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]
