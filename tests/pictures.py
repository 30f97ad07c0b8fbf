"""Pictures and documents as tests attach them: small, whole, and with bytes of their own."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Any


def png(width: int = 3, height: int = 4, said: bytes = b"") -> bytes:
    """A whole PNG that says it has this size, with a text of its own."""
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"tEXt", b"said\x00" + said), (b"IDAT", zlib.compress(b"\x00" * 13)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data)) for name, data in chunks
    )


def pdf(pages: int = 1) -> bytes:
    return b"%PDF-1.7\n" + b"/Type /Page\n" * pages + b"%%EOF\n"


def wav(seconds: int = 1) -> bytes:
    data = bytes(8_000 * seconds)
    form = struct.pack("<IHHIIHH", 16, 1, 1, 8_000, 8_000, 1, 8)
    body = b"WAVEfmt " + form + b"data" + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", len(body)) + body


def part(data: bytes, name: str = "", type_: str = "file") -> dict[str, Any]:
    """A file as a part of a message that is sent."""
    given = {"type": type_, "data": base64.b64encode(data).decode()}
    return given | ({"name": name} if name else {})


def url(data: bytes, media_type: str = "image/png") -> dict[str, Any]:
    """The form of OpenAI and litellm, which a provider is sent."""
    return {"type": "image_url", "image_url": {"url": f"data:{media_type};base64,{base64.b64encode(data).decode()}"}}
