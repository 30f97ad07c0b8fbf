"""Files in content parts: an upload becomes a reference by its hash and the bytes it stands for, or a note (W4).

A reference is `{"type": "image" | "audio" | "file", "hash", "media_type", "size", "name"?, ...}` with what the file
measures: `width` and `height`, `seconds`, `pages` or `chars`. It is what messages hold, what is shown and what is
counted. The bytes are kept beside the text, once a session, as base64: `File`.
"""

from __future__ import annotations

import binascii
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from agentflow.media.kinds import MAX_FILE_BYTES, Found, found_in

HASH = re.compile(r"file-[0-9a-f]{32}")
_NAME_CHARS = 120
_STEP = 400_000  # characters of base64
_MEASURES = ("size", "width", "height", "pages", "chars", "seconds")
_TEXTS = ("media_type", "name", "detail")


class NotAFile(ValueError):
    """What stands in the place of a file is none; the message says why, after the name of the place."""


@dataclass(frozen=True, slots=True)
class File:
    """The bytes of a file as base64, under the hash that references name it by."""

    hash: str
    body: str

    @classmethod
    def of(cls, data: bytes) -> File:
        return cls(file_hash(data), encoded(data))


def file_hash(data: bytes) -> str:
    """The name of a file: of its bytes alone, and like no hash of a text."""
    return f"file-{hashlib.sha256(data).hexdigest()[:32]}"


def is_body_of(body: str, hash_: str) -> bool:
    """Whether that is the base64 of the bytes that the hash names."""
    try:
        return file_hash(decoded(body)) == hash_
    except (binascii.Error, ValueError):
        return False


def is_file(part: Mapping[str, Any]) -> bool:
    """Whether a part is a reference to a file that is kept."""
    return "hash" in part and part.get("type") in ("image", "audio", "file")


def hashes_in(content: Any) -> Iterator[str]:
    """The files that a content names."""
    return (part["hash"] for part in content if is_file(part)) if isinstance(content, list) else iter(())


def received(part: Mapping[str, Any]) -> tuple[dict[str, Any], File | None]:
    """A part as it came, as it is recorded: a reference and its bytes, a note, or unchanged where it holds no data.

    Raises `NotAFile` for data that is no base64, and for a reference in no form of ours.
    """
    if part.get("type") == "text":
        return dict(part), None
    data, said = data_in(part)
    if data:
        return kept(_decoded(data), said, _name(part), _detail(part))
    if is_file(part):
        return _reference(part), None
    return _with_link(part), None


def kept(data: bytes, said: str = "", name: str = "", detail: str = "") -> tuple[dict[str, Any], File | None]:
    """Bytes as they are recorded: a reference with the bytes, or a note without; `said` is the type they came with."""
    found = found_in(data, said.lower())
    told = {"name": name} if name else {}
    if found.why is not None:
        reference = {"type": found.type, "media_type": found.media_type, "size": len(data), **told}
        return left_out(reference, found.why), None
    file = File.of(data)
    return _made(found, file.hash, len(data), told | ({"detail": detail} if detail else {})), file


def _made(found: Found, hash_: str, size: int, told: Mapping[str, str]) -> dict[str, Any]:
    return {
        "type": found.type, "hash": hash_, "media_type": found.media_type, "size": size, **told, **found.measures,
    }  # fmt: skip


def left_out(reference: Mapping[str, Any], why: str = "") -> dict[str, Any]:
    """The text part that stands for a file which is not given to a model."""
    return {"type": "text", "text": f"[{described(reference)} left out{': ' if why else ''}{why}]"}


def described(reference: Mapping[str, Any]) -> str:
    """A file in words: `image cat.png (image/png, 12 KB)`."""
    name = f" {reference['name']}" if reference.get("name") else ""
    size = reference.get("size")
    about = ", ".join(filter(None, (str(reference.get("media_type") or ""), _size(size))))
    return f"{reference.get('type', 'file')}{name}{f' ({about})' if about else ''}"


def part_text(part: Mapping[str, Any]) -> str:
    """A content part for people: its text, the file in words, or the type of any other."""
    if part.get("type") == "text":
        return str(part.get("text", ""))
    return f"[{described(part)}]" if is_file(part) else f"[{part.get('type')}]"


def _size(size: Any) -> str:
    if not isinstance(size, int):
        return ""
    units = ((1_000_000, "MB"), (1_000, "KB"))
    return next((f"{size / unit:.3g} {word}" for unit, word in units if size >= unit), f"{size} bytes")


def with_bodies(content: Any, files: Iterable[File]) -> Any:
    """A content whose references carry their bytes again, as they came: `received` reads it back."""
    bodies = {file.hash: file.body for file in files}
    if not bodies or not isinstance(content, list):
        return content
    return [{**part, "data": bodies[part["hash"]]} if part.get("hash") in bodies else part for part in content]


MAX_WRITTEN = 300_000
"""Characters of base64 that a file for people to edit may hold."""


def with_small_bodies(content: Any, files: Iterable[File]) -> tuple[Any, list[str]]:
    """A content for such a file, and in words the files that are too large for it: a note stands in their place."""
    if not isinstance(content, list):
        return content, []
    whole = with_bodies(content, [file for file in files if len(file.body) <= MAX_WRITTEN])
    large = [described(part) for part in whole if is_file(part) and "data" not in part]
    return [left_out(part) if is_file(part) and "data" not in part else part for part in whole], large


# -- reading -----------------------------------------------------------------------------------------------------------


def data_in(part: Mapping[str, Any]) -> tuple[str, str]:
    """The base64 of a part and its media type, each empty where there is none; an address is no data."""
    media_type, data = "", ""
    for key, value in texts_in(part):
        if value.startswith("data:"):
            head, _, data = value.partition(",")
            media_type = head[5:].partition(";")[0]
        elif key in ("data", "file_data"):
            data = value
        elif key in ("media_type", "mime_type", "mimeType", "format"):
            media_type = media_type or value
    return data, media_type.lower()


def texts_in(part: Mapping[str, Any], level: int = 0) -> Iterator[tuple[str, str]]:
    """Every text of a part with its key, three levels deep."""
    for key, value in part.items():
        if isinstance(value, str):
            yield key, value
        elif isinstance(value, Mapping) and level < 3:
            yield from texts_in(value, level + 1)


def _decoded(data: str) -> bytes:
    if len(data) > MAX_FILE_BYTES * 2:
        raise NotAFile(f"is too large; a file may have {MAX_FILE_BYTES:,} bytes.")
    try:
        return decoded(data)
    except (binascii.Error, ValueError):
        raise NotAFile("must be the base64 of a file.") from None


def decoded(data: str) -> bytes:
    """The bytes of a base64 text, with or without the signs that fill its end; read in steps that hold nobody (Z3).

    Raises `ValueError` for anything else.
    """
    end = len(data) - len(data[-2:]) + len(data[-2:].rstrip("="))
    pieces = [data[start : min(start + _STEP, end)] for start in range(0, end, _STEP)]
    filled = (piece + "=" * (-len(piece) % 4) for piece in pieces)
    return b"".join([binascii.a2b_base64(piece, strict_mode=True) for piece in filled])


def encoded(data: bytes) -> str:
    """The base64 of bytes, written in such steps too."""
    step = _STEP // 4 * 3
    return b"".join(
        [binascii.b2a_base64(data[start : start + step], newline=False) for start in range(0, len(data), step)]
    ).decode()


def _name(part: Mapping[str, Any]) -> str:
    """The name a file came with, without folders: one line, for people and models."""
    said = next((value for key, value in texts_in(part) if key in ("filename", "name", "title")), "")
    return shown_name(said)


def shown_name(said: str) -> str:
    """A file's name as it is recorded: its last part, of printable characters."""
    last = said[-1_000:].replace("\\", "/").rpartition("/")[2]
    return "".join(char for char in last if char.isprintable() and char not in "[]<>")[-_NAME_CHARS:].strip()


def _detail(part: Mapping[str, Any]) -> str:
    detail = dict(texts_in(part)).get("detail", "")
    return detail if detail in ("low", "high", "auto") else ""


def _reference(part: Mapping[str, Any]) -> dict[str, Any]:
    """A reference that a client sends back, or names anew; its fields are our own."""
    if not isinstance(part["hash"], str) or not HASH.fullmatch(part["hash"]):
        raise NotAFile("must name a file of this session by its hash, file- and 32 digits.")
    known = {"type", "hash", *_TEXTS, *_MEASURES}
    if strange := next((key for key in part if key not in known), None):
        raise NotAFile(f"names a file by its hash, and cannot have {str(strange)[:40]!r} beside it.")
    for key in _MEASURES:
        value = part.get(key, 0)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 10**9:
            raise NotAFile(f"has a {key} that is no number of a file.")
    return dict(part)


def _with_link(part: Mapping[str, Any]) -> dict[str, Any]:
    """A picture that stands elsewhere, in the form that providers know."""
    if part.get("type") == "image" and isinstance(part.get("url"), str):
        return {"type": "image_url", "image_url": {"url": part["url"]}}
    return dict(part)
