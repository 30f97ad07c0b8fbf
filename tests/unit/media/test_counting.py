"""X5, D34: what is no text counts by the provider's rule, never by the length of its base64."""

from __future__ import annotations

import base64
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentflow.media.counting import CHARS_PER_TOKEN, PICTURE_TOKENS, part_chars


def png(width: int, height: int, size: int = 0) -> bytes:
    return (
        b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"
        + struct.pack(">II", width, height)
        + b"\x08\x02\x00\x00\x00"
        + bytes(size)
    )


def gif(width: int, height: int) -> bytes:
    return b"GIF89a" + struct.pack("<HH", width, height) + bytes(20)


def jpeg(width: int, height: int) -> bytes:
    exif = b"\xff\xe1" + struct.pack(">H", 40_000) + bytes(39_998)
    return b"\xff\xd8" + exif + b"\xff\xc0\x00\x11\x08" + struct.pack(">HH", height, width) + bytes(20)


def webp(kind: bytes, width: int, height: int) -> bytes:
    sizes = {
        b"VP8X": bytes(8) + (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little"),
        b"VP8L": bytes(5) + ((width - 1) | (height - 1) << 14).to_bytes(4, "little"),
        b"VP8 ": bytes(10) + struct.pack("<HH", width, height),
    }
    return b"RIFF\x00\x00\x00\x00WEBP" + kind + sizes[kind] + bytes(20)


def picture(data: bytes, media_type: str = "image/png", **more: str) -> dict[str, Any]:
    text = base64.b64encode(data).decode()
    return {"type": "image_url", "image_url": {"url": f"data:{media_type};base64,{text}", **more}}


def tokens(part: dict[str, Any], model: str | None) -> float:
    return part_chars(part, model) / CHARS_PER_TOKEN


RULES = [
    ("openai/gpt-4o", (1024, 1024), 85 + 4 * 170),
    ("gpt-4o", (2048, 4096), 85 + 6 * 170),
    ("azure/gpt-4.1", (512, 512), 85 + 170),
    ("gpt-4o-mini", (512, 512), 2833 + 5667),
    ("openrouter/openai/gpt-5", (512, 512), 70 + 140),
    ("gpt-5-mini", (64, 64), 7),
    ("anthropic/claude-sonnet-4-5", (750, 100), 100),
    ("anthropic/claude-sonnet-4-5", (8000, 8000), 1600),
    ("gemini/gemini-2.5-pro", (384, 384), 258),
    ("vertex_ai/gemini-2.5-pro", (1536, 768), 2 * 258),
    ("some/other", (10, 10), PICTURE_TOKENS),
    (None, (10, 10), PICTURE_TOKENS),
]


@pytest.mark.parametrize(("model", "size", "expected"), RULES)
def test_a_picture_counts_by_its_size_and_its_readers_rule(
    model: str | None, size: tuple[int, int], expected: int
) -> None:
    assert tokens(picture(png(*size, 800_000)), model) == expected


@pytest.mark.parametrize(
    "data",
    [png(640, 480), gif(640, 480), jpeg(640, 480), *(webp(kind, 640, 480) for kind in (b"VP8X", b"VP8L", b"VP8 "))],
)
def test_the_size_is_read_from_the_beginning_of_every_common_format(data: bytes) -> None:
    assert tokens(picture(data), "claude-x") == -(-640 * 480 // 750)


@pytest.mark.parametrize("model", [model for model, _, _ in RULES])
@pytest.mark.parametrize(
    "part",
    [
        {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
        {"type": "image_url", "image_url": "data:image/png;base64,@@@"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
        {"type": "input_image", "image_url": "https://example.com/a.png"},
    ],
)
def test_a_picture_of_unknown_size_counts_as_a_large_one(part: dict[str, Any], model: str | None) -> None:
    assert tokens(part, model) >= PICTURE_TOKENS


def test_low_detail_is_cheap_where_the_provider_has_it() -> None:
    assert tokens(picture(png(4000, 4000), detail="low"), "gpt-4o") == 85
    assert tokens(picture(png(400, 400), detail="low"), "claude-x") == -(-400 * 400 // 750)


def test_sound_counts_by_its_seconds() -> None:
    header = b"RIFF\x00\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00" + struct.pack("<II", 16_000, 32_000)
    wave = base64.b64encode(header + bytes(320_000 - len(header))).decode()
    part = {"type": "input_audio", "input_audio": {"data": wave, "format": "wav"}}
    assert tokens(part, "gpt-4o-audio") == pytest.approx(100, abs=1)
    assert tokens(part, "gemini-2.5") == pytest.approx(320, abs=1)
    assert tokens({"type": "input_audio", "input_audio": {"data": "A" * 1_000_000, "format": "mp3"}}, None) < 2_000


def test_a_text_file_counts_by_its_text_and_a_document_by_its_pages() -> None:
    text = base64.b64encode(b"word " * 800).decode()
    told = {"type": "file", "file": {"file_data": f"data:text/plain;base64,{text}", "filename": "a.txt"}}
    assert tokens(told, "gpt-4o") == pytest.approx(1000, abs=2)
    pdf = base64.b64encode(b"%PDF-1.7 /Type /Pages " + b"/Type /Page \n" * 3 + bytes(500_000)).decode()
    document = {"type": "file", "file": {"file_data": f"data:application/pdf;base64,{pdf}"}}
    assert tokens(document, "gemini-2.5") == 3 * 258
    assert tokens(document, None) == 3 * PICTURE_TOKENS
    assert tokens({"type": "file", "file": {"file_id": "f-1"}}, None) == PICTURE_TOKENS


def test_text_counts_as_it_is_and_what_is_unknown_without_its_data() -> None:
    assert part_chars({"type": "text", "text": "hello"}, "gpt-4o") == 5
    assert part_chars({"type": "odd", "x": "data:odd;base64," + "A" * 100_000}, None) < 100


@given(
    st.binary(max_size=400),
    st.sampled_from([model for model, _, _ in RULES]),
    st.sampled_from(["image", "audio", "file", "x"]),
)
def test_no_bytes_make_it_fail_or_count_below_nothing(data: bytes, model: str | None, kind: str) -> None:
    for head in (b"", b"\xff\xd8", b"\x89PNG", b"GIF8", b"RIFF\0\0\0\0WEBPVP8L", b"RIFF\0\0\0\0WAVE"):
        text = base64.b64encode(head + data).decode()
        assert part_chars({"type": kind, "data": text}, model) >= 0
        assert part_chars({"type": kind, "url": f"data:{kind}/x;base64,{data!r}"}, model) >= 0
