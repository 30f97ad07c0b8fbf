"""What bytes are, read from the bytes: a kind that some provider takes, or why none takes them (W4). Pure."""

from __future__ import annotations

import re
from codecs import lookup
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

MAX_FILE_BYTES = 20_000_000
MAX_TEXT_BYTES = 1_000_000
MAX_PIXELS = 16_000  # a side

PDF = "application/pdf"
PDF_PAGE_BYTES = 50_000
SOUND_BYTES = 16_000  # of a second, compressed

PartType = Literal["image", "audio", "file"]
Size = tuple[int, int]
Measures = dict[str, Any]

_PAGE = re.compile(rb"/Type\s?/Page(?!s)")
_UTF8 = lookup("utf-8-sig")
_SVG = re.compile(r"<svg[\s/>]", re.IGNORECASE)
_PAGES_BYTES = 3_000_000  # of a document whose pages are counted one by one
_TEXT_TYPE = re.compile(r"text/[a-z0-9.+-]{1,60}|application/(?:json|xml|yaml|x-yaml|toml|javascript)")
_END_BYTES = 4_096


@dataclass(frozen=True, slots=True)
class Found:
    """What bytes are. `why` says why no model can be given them, null when one can; `measures` how large it is: `width`
    and `height` of a picture, `seconds` of a sound, `pages` of a document, `chars` of a text.
    """

    type: PartType
    media_type: str
    measures: Measures
    why: str | None = None


def found_in(data: bytes, said: str = "") -> Found:
    """What these bytes are; `said` is the type they came with, which counts among kinds of text alone."""
    if not data:
        return Found("file", said or "application/octet-stream", {}, "it is empty")
    for kind in _KINDS:
        if kind.begins(data):
            return _known(kind, data)
    text = _text(data)
    if text is None:
        return Found("file", "application/octet-stream", {}, "no model takes a file of this type")
    if _SVG.search(text[:2_000]):
        return Found("image", "image/svg+xml", {}, "no model takes a picture of this type")
    too_large = f"a text may have {MAX_TEXT_BYTES:,} bytes" if len(data) > MAX_TEXT_BYTES else None
    media_type = said if _TEXT_TYPE.fullmatch(said) else "text/plain"
    return Found("file", media_type, {"chars": len(text)}, too_large)


def _known(kind: _Kind, data: bytes) -> Found:
    if len(data) > MAX_FILE_BYTES:
        return Found(kind.type, kind.media_type, {}, f"a file may have {MAX_FILE_BYTES:,} bytes")
    if kind.is_whole is None:
        return Found(kind.type, kind.media_type, {}, "no model takes a file of this type")
    measures = kind.measured(data)
    if measures is None or not kind.is_whole(data):
        return Found(kind.type, kind.media_type, {}, "it is damaged or not complete")
    if max(measures.get("width", 0), measures.get("height", 0)) > MAX_PIXELS:
        return Found(kind.type, kind.media_type, measures, f"a picture may have {MAX_PIXELS:,} pixels a side")
    return Found(kind.type, kind.media_type, measures)


def _text(data: bytes) -> str | None:
    """The text that these bytes are; of a long one the beginning."""
    is_long = len(data) > MAX_TEXT_BYTES
    try:
        text = _UTF8.incrementaldecoder().decode(data[:_END_BYTES] if is_long else data, final=not is_long)
    except UnicodeDecodeError:
        return None
    return None if "\x00" in text else text


# -- pictures ----------------------------------------------------------------------------------------------------------


def picture_size(head: bytes) -> Size | None:
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


def _picture(data: bytes) -> Measures | None:
    size = picture_size(data)
    return None if size is None else {"width": size[0], "height": size[1]}


# -- sounds and documents ----------------------------------------------------------------------------------------------


def sound_seconds(head: bytes, size: int) -> float:
    """Of a WAVE file by its header, of others by their size."""
    rate = int.from_bytes(head[28:32], "little") if head[8:12] == b"WAVE" else 0
    return size / (rate or SOUND_BYTES)


def _sound(data: bytes) -> Measures:
    return {"seconds": round(sound_seconds(data, len(data)), 1)}


def page_count(data: bytes) -> int:
    """Of a PDF: counted where it is small and says so, else by its size."""
    pages = len(_PAGE.findall(data)) if len(data) <= _PAGES_BYTES else 0
    return pages or -(-len(data) // PDF_PAGE_BYTES)


def _document(data: bytes) -> Measures:
    return {"pages": page_count(data)}


# -- the table ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Kind:
    """A kind of file by how it begins; `is_whole` tells from its end that nothing is missing, and is null where no
    provider takes the kind.
    """

    type: PartType
    media_type: str
    begins: Callable[[bytes], bool]
    is_whole: Callable[[bytes], bool] | None = None
    measured: Callable[[bytes], Measures | None] = lambda data: {}


def _starts(*with_: bytes) -> Callable[[bytes], bool]:
    return lambda data: data.startswith(with_)


def _riff(kind: bytes) -> Callable[[bytes], bool]:
    return lambda data: data.startswith(b"RIFF") and data[8:12] == kind


def _brand(*brands: bytes) -> Callable[[bytes], bool]:
    return lambda data: data[4:8] == b"ftyp" and data[8:12].startswith(brands)


def _ends_with(mark: bytes) -> Callable[[bytes], bool]:
    return lambda data: mark in data[-_END_BYTES:]


def _is_whole_gif(data: bytes) -> bool:
    return data[-64:].rstrip(b"\x00").endswith(b";")


def _is_bitmap(data: bytes) -> bool:
    return data.startswith(b"BM") and data[6:10] == bytes(4)


def _has_riff_length(data: bytes) -> bool:
    return int.from_bytes(data[4:8], "little") + 8 <= len(data) + 1


def _is_wave(data: bytes) -> bool:
    """A recorder that did not know the length while it wrote leaves none."""
    return len(data) > 44 and (data[4:8] in (bytes(4), b"\xff" * 4) or _has_riff_length(data))


def _is_mpeg_sound(data: bytes) -> bool:
    return data.startswith(b"ID3") or (len(data) > 1 and data[0] == 0xFF and data[1] in (0xFB, 0xFA, 0xF3, 0xF2))


def _is_some(data: bytes) -> bool:
    return len(data) > 128


_KINDS = (
    _Kind("image", "image/png", _starts(b"\x89PNG\r\n\x1a\n"), _ends_with(b"IEND"), _picture),
    _Kind("image", "image/jpeg", _starts(b"\xff\xd8\xff"), _ends_with(b"\xff\xd9"), _picture),
    _Kind("image", "image/gif", _starts(b"GIF87a", b"GIF89a"), _is_whole_gif, _picture),
    _Kind("image", "image/webp", _riff(b"WEBP"), _has_riff_length, _picture),
    _Kind("image", "image/bmp", _is_bitmap),
    _Kind("image", "image/tiff", _starts(b"II*\x00", b"MM\x00*")),
    _Kind("image", "image/heic", _brand(b"heic", b"heix", b"mif1", b"avif")),
    _Kind("audio", "audio/wav", _riff(b"WAVE"), _is_wave, _sound),
    _Kind("audio", "audio/mpeg", _is_mpeg_sound, _is_some, _sound),
    _Kind("audio", "audio/flac", _starts(b"fLaC"), _is_some, _sound),
    _Kind("audio", "audio/ogg", _starts(b"OggS"), _is_some, _sound),
    _Kind("audio", "audio/mp4", _brand(b"M4A"), _is_some, _sound),
    _Kind("file", "video/mp4", _brand(b"")),
    _Kind("file", PDF, _starts(b"%PDF-"), _ends_with(b"%%EOF"), _document),
    _Kind("file", "application/zip", _starts(b"PK\x03\x04")),
)
"""In the order they are asked; what begins like none of them is a text or unknown."""
