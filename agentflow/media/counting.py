"""How much of a model's window a content part takes that is no text: by the provider's own rule where it is known (X5).

What is counted is the picture, the sound or the pages, never the length of their base64. The rules are the providers'
published ones, found by the model's name; what has none counts as the last row of its table.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Mapping
from math import ceil
from typing import Any

from agentflow.media.files import data_in, is_file, texts_in
from agentflow.media.kinds import Size, page_count, picture_size, sound_seconds

CHARS_PER_TOKEN = 4
PICTURE_TOKENS = 1_600
"""Tokens of a picture whose size or whose provider's rule is unknown."""

_HEADER_CHARS = 256 * 1024  # base64 of the beginning of a file, where the size of a picture or a sound stands
_PDF_CHARS = 4 * 1024 * 1024  # base64 of a document whose pages are counted one by one


def part_chars(part: Mapping[str, Any], model: str | None) -> int:
    """Characters that a content part counts as for this model; a text's are its own."""
    kind = str(part.get("type"))
    if kind == "text":
        return len(str(part.get("text", "")))
    data, media_type = data_in(part)
    for word, tokens in _KINDS:
        if word in f"{kind} {media_type}":
            return tokens(part, data, media_type, (model or "").lower()) * CHARS_PER_TOKEN
    return len(json.dumps({key: value for key, value in part.items() if not _is_data(value)}, default=str))


def _is_data(value: Any) -> bool:
    return isinstance(value, str) and value.startswith("data:")


def _decoded(data: str, chars: int) -> bytes:
    """The first bytes of a base64 text, as many as `chars` of it hold; empty for what is none."""
    head = data[: chars - chars % 4]
    try:
        return base64.b64decode(head + "=" * (-len(head) % 4))
    except (binascii.Error, ValueError):
        return b""


# -- pictures ----------------------------------------------------------------------------------------------------------


def _picture(part: Mapping[str, Any], data: str, media_type: str, model: str) -> int:
    rule = _rule(_PICTURES, model)
    size = _size(part) if is_file(part) else picture_size(_decoded(data, _HEADER_CHARS)) if data else None
    detail = str(dict(texts_in(part)).get("detail", ""))
    return PICTURE_TOKENS if rule is None else rule(size, detail)


def _size(part: Mapping[str, Any]) -> Size | None:
    width, height = part.get("width"), part.get("height")
    return (width, height) if isinstance(width, int) and isinstance(height, int) else None


def _tiles(base: int, tile: int) -> Callable[[Size | None, str], int]:
    """OpenAI's: fit into 2048 × 2048, the shorter side 768 at most, then tiles of 512."""

    def tokens(size: Size | None, detail: str) -> int:
        if detail == "low":
            return base
        if size is None:
            return max(PICTURE_TOKENS, base + tile)
        width, height = _shrunk(size, longest=2048, shortest=768)
        return base + tile * ceil(width / 512) * ceil(height / 512)

    return tokens


def _patches(factor: float) -> Callable[[Size | None, str], int]:
    """OpenAI's for its small models: patches of 32, 1,536 at most, times a factor."""

    def tokens(size: Size | None, detail: str) -> int:
        patches = 1536 if size is None else ceil(size[0] / 32) * ceil(size[1] / 32)
        return ceil(min(patches, 1536) * factor)

    return tokens


def _by_area(size: Size | None, detail: str) -> int:
    """Anthropic's: width × height / 750, after fitting into 1568 a side and what makes 1,600 tokens."""
    if size is None:
        return PICTURE_TOKENS
    width, height = _shrunk(size, longest=1568)
    return min(ceil(width * height / 750), PICTURE_TOKENS)


def _by_crops(size: Size | None, detail: str) -> int:
    """Google's: 258 for a small picture, else as much for each tile of 768."""
    if size is None:
        return PICTURE_TOKENS
    width, height = size
    return 258 if max(size) <= 384 else 258 * ceil(width / 768) * ceil(height / 768)


def _shrunk(size: Size, *, longest: int, shortest: int | None = None) -> tuple[float, float]:
    scale = min(1.0, longest / max(size))
    if shortest is not None:
        scale = min(scale, shortest / min(size))
    return size[0] * scale, size[1] * scale


# -- sounds, films and files -------------------------------------------------------------------------------------------


def _sound(part: Mapping[str, Any], data: str, media_type: str, model: str) -> int:
    seconds = part.get("seconds", 0) if is_file(part) else _seconds(data)
    return ceil(seconds * (_rule(_SOUNDS, model) or 0))


def _film(part: Mapping[str, Any], data: str, media_type: str, model: str) -> int:
    return ceil(_seconds(data) * 263)


def _seconds(data: str) -> float:
    """Of a WAVE file by its header, of others by their size; a minute for what is elsewhere."""
    if not data:
        return 60.0
    return sound_seconds(_decoded(data, 64), len(data) * 3 // 4)


def _file(part: Mapping[str, Any], data: str, media_type: str, model: str) -> int:
    """A text file by its characters, a document by its pages; a picture's worth for one that is elsewhere."""
    if "chars" in part:
        return ceil(int(part["chars"]) / CHARS_PER_TOKEN)
    if not data and "pages" not in part:
        return PICTURE_TOKENS
    if media_type.startswith("text/") or media_type in ("application/json", "application/xml"):
        return ceil(len(data) * 3 // 4 / CHARS_PER_TOKEN)
    pages = part["pages"] if "pages" in part else _pages(data)
    return int(pages * (_rule(_PAGES, model) or PICTURE_TOKENS))


def _pages(data: str) -> int:
    head = _decoded(data, _PDF_CHARS)
    return page_count(head if len(data) <= _PDF_CHARS else head + bytes(len(data) * 3 // 4 - len(head)))


_Tokens = Callable[[Mapping[str, Any], str, str, str], int]
_KINDS: tuple[tuple[str, _Tokens], ...] = (
    ("image", _picture),
    ("audio", _sound),
    ("video", _film),
    ("file", _file),
    ("document", _file),
)

_PictureRule = Callable[[Size | None, str], int]
_PICTURES: tuple[tuple[str, _PictureRule], ...] = (
    ("gpt-4o-mini", _tiles(2833, 5667)),
    ("gpt-4.1-mini", _patches(1.62)),
    ("gpt-4.1-nano", _patches(2.46)),
    ("gpt-5-mini", _patches(1.62)),
    ("gpt-5-nano", _patches(2.46)),
    ("o4-mini", _patches(1.72)),
    ("gpt-4o", _tiles(85, 170)),
    ("gpt-4.1", _tiles(85, 170)),
    ("gpt-4.5", _tiles(85, 170)),
    ("gpt-5", _tiles(70, 140)),
    ("o1", _tiles(75, 150)),
    ("o3", _tiles(75, 150)),
    ("claude", _by_area),
    ("gemini", _by_crops),
)
"""By the first name that a model's begins with, after its provider's."""

_SOUNDS: tuple[tuple[str, float], ...] = (("gpt", 10.0), ("gemini", 32.0), ("", 32.0))
"""Tokens of a second."""

_PAGES: tuple[tuple[str, int], ...] = (("gemini", 258), ("claude", 3_000), ("", PICTURE_TOKENS))
"""Tokens of a page."""


def _rule(table: tuple[tuple[str, Any], ...], model: str) -> Any:
    name = model.rpartition("/")[2]
    return next((rule for prefix, rule in table if name.startswith(prefix)), None)
