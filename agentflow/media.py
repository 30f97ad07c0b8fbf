"""How much of a model's window a content part takes that is no text: by the provider's own rule where it is known (X5).

What is counted is the picture, the sound or the pages, never the length of their base64. The rules are the providers'
published ones, found by the model's name; what has none counts as the last row of its table.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable, Iterator, Mapping
from math import ceil
from typing import Any

CHARS_PER_TOKEN = 4
PICTURE_TOKENS = 1_600
"""Tokens of a picture whose size or whose provider's rule is unknown."""

_HEADER_CHARS = 256 * 1024  # base64 of the beginning of a file, where the size of a picture or a sound stands
_PDF_CHARS = 4 * 1024 * 1024  # base64 of a document whose pages are counted one by one
_PDF_PAGE_BYTES = 50_000
_SOUND_BYTES = 16_000  # of a second, compressed

Size = tuple[int, int]


def part_chars(part: Mapping[str, Any], model: str | None) -> int:
    """Characters that a content part counts as for this model; a text's are its own."""
    kind = str(part.get("type"))
    if kind == "text":
        return len(str(part.get("text", "")))
    data, media_type = _data(part)
    for word, tokens in _KINDS:
        if word in f"{kind} {media_type}":
            return tokens(part, data, media_type, (model or "").lower()) * CHARS_PER_TOKEN
    return len(json.dumps({key: value for key, value in part.items() if not _is_data(value)}, default=str))


def addresses(part: Mapping[str, Any]) -> Iterator[tuple[str, str, bool]]:
    """Every address in a content part that is no text: where it stands, as `image_url.url`, the address, and whether
    it is one that may be handed on (Z10).

    That is data itself, and an `https:` address where one is expected; never one in the place of an id, which a
    library would fetch.
    """
    if part.get("type") == "text":
        return
    for path, key, value in _all_texts(part, ""):
        is_place = key in _PLACES
        if is_place or _ADDRESS.match(value):
            yield path, value, value.startswith("data:") or (is_place and _SECURE.match(value) is not None)


_PLACES = frozenset({
    "url", "uri", "image_url", "audio_url", "video_url", "file_url", "document_url", "file_uri", "image_uri",
})  # fmt: skip
_ADDRESS = re.compile(r"\s*(?:[a-z][a-z0-9+.-]{0,30}:(?://|\\\\)|//|www\.|file:|data:)", re.IGNORECASE)
_SECURE = re.compile(r"https://[^\s\\\x00-\x1f\x7f]+\Z")


def _all_texts(value: Any, path: str, key: str = "") -> Iterator[tuple[str, str, str]]:
    if isinstance(value, str):
        yield path, key, value
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield from _all_texts(item, f"{path}.{name}" if path else str(name), str(name))
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from _all_texts(item, f"{path}[{index}]", key)


def _data(part: Mapping[str, Any]) -> tuple[str, str]:
    """The base64 of a part and its media type, each empty where there is none; an address is no data."""
    media_type, data = "", ""
    for key, value in _texts(part):
        if value.startswith("data:"):
            head, _, data = value.partition(",")
            media_type = head[5:].partition(";")[0]
        elif key in ("data", "file_data"):
            data = value
        elif key in ("media_type", "mime_type", "format"):
            media_type = media_type or value
    return data, media_type.lower()


def _texts(part: Mapping[str, Any], level: int = 0) -> Iterator[tuple[str, str]]:
    for key, value in part.items():
        if isinstance(value, str):
            yield key, value
        elif isinstance(value, Mapping) and level < 3:
            yield from _texts(value, level + 1)


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
    size = _picture_size(_decoded(data, _HEADER_CHARS)) if data else None
    detail = str(dict(_texts(part)).get("detail", ""))
    return PICTURE_TOKENS if rule is None else rule(size, detail)


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


def _picture_size(head: bytes) -> Size | None:
    """Width and height, read from the beginning of a PNG, GIF, WebP or JPEG; null for anything else."""
    size: Size | None = None
    if head.startswith(b"\x89PNG") and len(head) >= 24:
        size = int.from_bytes(head[16:20], "big"), int.from_bytes(head[20:24], "big")
    elif head.startswith(b"GIF8") and len(head) >= 10:
        size = int.from_bytes(head[6:8], "little"), int.from_bytes(head[8:10], "little")
    elif head[8:12] == b"WEBP" and len(head) >= 30:
        size = _webp_size(head)
    elif head.startswith(b"\xff\xd8"):
        size = _jpeg_size(head)
    return size if size is not None and min(size) > 0 else None


def _webp_size(head: bytes) -> Size | None:
    if head[12:16] == b"VP8X":
        return int.from_bytes(head[24:27], "little") + 1, int.from_bytes(head[27:30], "little") + 1
    if head[12:16] == b"VP8L":
        bits = int.from_bytes(head[21:25], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    return int.from_bytes(head[26:28], "little") & 0x3FFF, int.from_bytes(head[28:30], "little") & 0x3FFF


def _jpeg_size(head: bytes) -> Size | None:
    """From the frame header; the segments before it are skipped."""
    at = 2
    while at + 9 <= len(head) and head[at] == 0xFF:
        marker = head[at + 1]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            return int.from_bytes(head[at + 7 : at + 9], "big"), int.from_bytes(head[at + 5 : at + 7], "big")
        at += 2 + max(int.from_bytes(head[at + 2 : at + 4], "big"), 2)
    return None


# -- sounds, films and files -------------------------------------------------------------------------------------------


def _sound(part: Mapping[str, Any], data: str, media_type: str, model: str) -> int:
    return ceil(_seconds(data) * (_rule(_SOUNDS, model) or 0))


def _film(part: Mapping[str, Any], data: str, media_type: str, model: str) -> int:
    return ceil(_seconds(data) * 263)


def _seconds(data: str) -> float:
    """Of a WAVE file by its header, of others by their size; a minute for what is elsewhere."""
    if not data:
        return 60.0
    size, head = len(data) * 3 // 4, _decoded(data, 64)
    rate = int.from_bytes(head[28:32], "little") if head[8:12] == b"WAVE" else 0
    return size / (rate or _SOUND_BYTES)


def _file(part: Mapping[str, Any], data: str, media_type: str, model: str) -> int:
    """A text file by its characters, a document by its pages; a picture's worth for one that is elsewhere."""
    if not data:
        return PICTURE_TOKENS
    size = len(data) * 3 // 4
    if media_type.startswith("text/") or media_type in ("application/json", "application/xml"):
        return ceil(size / CHARS_PER_TOKEN)
    pages = len(_PAGE.findall(_decoded(data, _PDF_CHARS))) if len(data) <= _PDF_CHARS else 0
    return (pages or ceil(size / _PDF_PAGE_BYTES)) * (_rule(_PAGES, model) or PICTURE_TOKENS)


_PAGE = re.compile(rb"/Type\s?/Page(?!s)")

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
