"""An entity's data as it is kept: compressed JSON under a hash that equal data has too (R8)."""

from __future__ import annotations

import json
import zlib
from hashlib import sha256
from typing import Any, NamedTuple

from agentflow.errors import StoreError
from agentflow.text import stored_json
from agentflow.tools.plain_values import is_plain

MAX_CHARS = 1_000_000
"""Of one entity's data as JSON."""


class Packed(NamedTuple):
    """`hash` is that of the canonical text, keys in order; `body` has them in the order that the data came with."""

    hash: str
    body: bytes
    chars: int


class Unpackable(ValueError):
    """The data cannot be kept; the message says why."""

    def __init__(self, message: str, chars: int = 0) -> None:
        super().__init__(message)
        self.chars = chars


def pack(value: Any) -> Packed:
    """The data ready to be kept. Raises `Unpackable` for what is no JSON, or too much of it."""
    if not is_plain(value):
        raise Unpackable("it is no JSON: texts as keys, texts, finite numbers, lists, at most 64 levels deep")
    text = _text(value, sort_keys=False)
    if len(text) > MAX_CHARS:
        raise Unpackable(f"it has {len(text)} characters as JSON, at most {MAX_CHARS} are kept", len(text))
    canonical = _text(value, sort_keys=True)
    return Packed(sha256(canonical.encode()).hexdigest(), zlib.compress(text.encode()), len(text))


def unpack(body: bytes) -> Any:
    """The data of a body. Raises `StoreError` for what `pack` has not made; it unpacks no more than that could (Z3)."""
    unpacking = zlib.decompressobj()
    try:
        text = unpacking.decompress(body, MAX_CHARS)
    except zlib.error as error:
        raise StoreError(f"A snapshot is damaged: {error}.", detail={"damaged": True}) from None
    if not unpacking.eof:
        raise StoreError("A snapshot is damaged: it is cut, or too long.", detail={"damaged": True})
    return stored_json(text.decode("ascii", "replace"))


def _text(value: Any, *, sort_keys: bool) -> str:
    """ASCII only: half a surrogate pair is kept as it is, and cannot harm the text."""
    return json.dumps(value, allow_nan=False, sort_keys=sort_keys, separators=(",", ":"))
