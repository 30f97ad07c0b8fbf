"""W4: what a file is, its bytes say; what no provider takes is told with the reason."""

from __future__ import annotations

import struct

import pytest

from agentflow.media.kinds import MAX_FILE_BYTES, Found, found_in
from tests.pictures import pdf, png, wav

JPEG = b"\xff\xd8\xff\xc0\x00\x11\x08" + struct.pack(">HH", 40, 30) + bytes(200) + b"\xff\xd9"
GIF = b"GIF89a" + struct.pack("<HH", 30, 40) + bytes(40) + b";"
WEBP_BODY = b"WEBPVP8X" + bytes(8) + (29).to_bytes(3, "little") + (39).to_bytes(3, "little") + bytes(20)
WEBP = b"RIFF" + struct.pack("<I", len(WEBP_BODY)) + WEBP_BODY

TAKEN = [
    (png(30, 40), Found("image", "image/png", {"width": 30, "height": 40})),
    (JPEG, Found("image", "image/jpeg", {"width": 30, "height": 40})),
    (GIF, Found("image", "image/gif", {"width": 30, "height": 40})),
    (WEBP, Found("image", "image/webp", {"width": 30, "height": 40})),
    (pdf(3), Found("file", "application/pdf", {"pages": 3})),
    (wav(2), Found("audio", "audio/wav", {"seconds": 2.0})),
    (b"ID3" + bytes(31_997), Found("audio", "audio/mpeg", {"seconds": 2.0})),
    (b"a,b\n1,2\n", Found("file", "text/csv", {"chars": 8})),
]


@pytest.mark.parametrize(("data", "found"), TAKEN, ids=lambda value: getattr(value, "media_type", ""))
def test_a_file_is_what_its_bytes_are_whatever_it_is_called(data: bytes, found: Found) -> None:
    said = found.media_type if found.media_type.startswith("text/") else "image/x-wrong"
    assert found_in(data, said) == found


@pytest.mark.parametrize(
    ("data", "media_type", "why"),
    [
        (b"", "application/octet-stream", "empty"),
        (png()[:-12], "image/png", "not complete"),
        (JPEG[:-2], "image/jpeg", "not complete"),
        (WEBP[:-9], "image/webp", "not complete"),
        (pdf()[:-6], "application/pdf", "not complete"),
        (wav()[:-900], "audio/wav", "not complete"),
        (b"\x89PNG\r\n\x1a\n" + b"IEND", "image/png", "damaged"),
        (png(20_000, 20_000), "image/png", "pixels"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "image/svg+xml", "type"),
        (b"<?xml version='1.0'?>\n<SVG ></SVG>", "image/svg+xml", "type"),
        (b"BM" + bytes(60), "image/bmp", "type"),
        (b"PK\x03\x04" + bytes(60), "application/zip", "type"),
        (b"\x00\x01\x02", "application/octet-stream", "type"),
        (b"a" * 1_000_001, "text/plain", "1,000,000 bytes"),
        (png(said=bytes(MAX_FILE_BYTES)), "image/png", "20,000,000 bytes"),
    ],
)
def test_what_no_provider_takes_is_told_with_the_reason(data: bytes, media_type: str, why: str) -> None:
    """F37"""
    found = found_in(data)
    assert (found.media_type, why in (found.why or "")) == (media_type, True)


def test_words_that_begin_like_a_bitmap_are_a_text() -> None:
    assert found_in(b"BMW is a maker of cars.").media_type == "text/plain"
