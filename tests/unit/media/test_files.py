"""W4: an upload becomes a reference and its bytes, or a note; nothing of it is dropped in silence."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from agentflow.conversation.inbox import parse_input
from agentflow.conversation.wire import message_of
from agentflow.errors import InvalidInput
from agentflow.media.counting import CHARS_PER_TOKEN, part_chars
from agentflow.media.files import file_hash, is_body_of, shown_name
from agentflow.media.provider import filled
from tests.pictures import pdf, png, wav

DATA = base64.b64encode(png()).decode()
REFERENCE = {
    "type": "image", "hash": file_hash(png()), "media_type": "image/png", "size": len(png()), "width": 3, "height": 4,
}  # fmt: skip


def content(*parts: dict[str, Any]) -> Any:
    return message_of({"role": "user", "content": list(parts)}).content


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image_url", "image_url": {"url": f"data:image/jpeg;base64,{DATA}"}},
        {"type": "image_url", "image_url": f"data:image/png;base64,{DATA}"},
        {"type": "input_image", "image_url": f"data:image/png;base64,{DATA}"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/gif", "data": DATA}},
        {"type": "file", "file": {"file_data": f"data:application/pdf;base64,{DATA}"}},
        {"type": "file", "file": {"file_data": DATA.rstrip("=")}},
        {"type": "binary", "mimeType": "image/png", "data": DATA},
        {"type": "image", "data": png()},
    ],
)
def test_every_form_of_an_upload_is_one_reference(part: dict[str, Any]) -> None:
    message = message_of({"role": "user", "content": [part]})
    assert message.content == [REFERENCE]
    assert [(file.hash, is_body_of(file.body, file.hash)) for file in message.files] == [(REFERENCE["hash"], True)]


@pytest.mark.parametrize(
    ("part", "problem"),
    [
        ({"type": "image", "data": "not base64!"}, "base64"),
        ({"type": "image_url", "image_url": {"url": "data:image/png;base64,%%%"}}, "base64"),
        ({"type": "image", "hash": "file-1"}, "by its hash"),
        ({"type": "image", "hash": "0123456789abcdef0123456789abcdef"}, "by its hash"),
        ({**REFERENCE, "path": "/etc/passwd"}, "'path'"),
        ({**REFERENCE, "width": "9"}, "width"),
        ({**REFERENCE, "width": -9}, "width"),
    ],
)
def test_what_is_no_file_is_refused_with_its_place(part: dict[str, Any], problem: str) -> None:
    """Z10"""
    with pytest.raises(InvalidInput, match=problem) as refused:
        content({"type": "text", "text": "x"}, part)
    assert refused.value.detail == {"field": "content[1]"}


def test_what_no_provider_takes_is_a_note_from_the_first() -> None:
    """F37"""
    svg = {"type": "image", "name": "a.svg", "data": base64.b64encode(b"<svg/>").decode()}
    assert content(svg) == [
        {
            "type": "text",
            "text": "[image a.svg (image/svg+xml, 6 bytes) left out: no model takes a picture of this type]",
        }
    ]


def test_an_input_with_files_is_read_back_equal_with_its_bytes() -> None:
    """C23: a queue keeps the input as JSON."""
    given = parse_input(
        {"type": "client.message", "message": {"role": "user", "content": [{"type": "image", "data": DATA}]}}
    )
    again = parse_input(given.as_dict())
    assert again == given
    assert again.message.files == given.message.files  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("../../etc/passwd", "passwd"), ("C:\\x\\cat.png", "cat.png"), ("a\nb\x1b[2J\u202e.png", "ab2J.png"),
        ("x" * 500, "x" * 120), ("", ""),
    ],
)  # fmt: skip
def test_a_name_is_one_plain_word_without_folders(said: str, name: str) -> None:
    """Z5, Z6"""
    assert shown_name(said) == name


def test_a_model_is_given_the_providers_form_or_a_note() -> None:
    sent = message_of(
        {
            "role": "user",
            "content": [{"type": "file", "name": "f", "data": data} for data in (png(), wav(), pdf(), b"words")],
        }
    )
    message = {"role": "user", "content": sent.content}
    bodies = {file.hash: file.body for file in sent.files}
    (everything,) = filled([message], bodies, None)
    assert [part["type"] for part in everything["content"]] == ["image_url", "input_audio", "file", "text"]
    assert everything["content"][3]["text"] == "[file f (text/plain, 5 bytes)]\nwords"
    (texts,) = filled([message], bodies, frozenset())
    notes = [part["text"] for part in texts["content"]]
    assert [note.endswith("left out: this model cannot read it]") for note in notes] == [True, True, True, False]
    (gone,) = filled([message], {}, None)
    assert all("not there any more" in part["text"] for part in gone["content"])


@pytest.mark.parametrize(
    ("data", "model", "tokens"),
    [(png(750, 100), "claude-x", 100), (pdf(2), "gemini-2", 516), (wav(10), "gpt-x", 100), (b"word " * 80, None, 100)],
)
def test_a_reference_counts_as_its_upload_would(data: bytes, model: str | None, tokens: int) -> None:
    """X5"""
    (part,) = content({"type": "file", "data": base64.b64encode(data).decode()})
    assert part_chars(part, model) == tokens * CHARS_PER_TOKEN
