"""Z10: at the door, an address in a content part is data or https, or the input is refused naming the field."""

from __future__ import annotations

from typing import Any

import pytest

from agentflow.conversation.inbox import parse_input
from agentflow.errors import InvalidInput

FIT = [
    {"type": "image_url", "image_url": {"url": "https://example.com/a.png?x=1#top"}},
    {"type": "image_url", "image_url": "data:image/png;base64,iVBORw0KGgo="},
    {"type": "file", "file": {"file_id": "file-123", "filename": "http.txt"}},
    {"type": "file", "file": {"file_data": "data:application/pdf;base64,JVBERi0="}},
    {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}},
    {"type": "document", "source": {"type": "url", "url": "https://example.com/a.pdf"}, "title": "Re: hello"},
    {"type": "text", "text": "see http://127.0.0.1/ and file:///etc/passwd"},
]
UNFIT = [
    ({"type": "image_url", "image_url": {"url": "http://169.254.169.254/latest"}}, "image_url.url"),
    ({"type": "image_url", "image_url": "http://example.com/a.png"}, "image_url"),
    ({"type": "image_url", "image_url": {"url": "file:///etc/passwd"}}, "image_url.url"),
    ({"type": "image_url", "image_url": {"url": "ftp://example.com/a"}}, "image_url.url"),
    ({"type": "image_url", "image_url": {"url": "/etc/passwd"}}, "image_url.url"),
    ({"type": "image_url", "image_url": {"url": "a.png"}}, "image_url.url"),
    ({"type": "image_url", "image_url": {"url": "//example.com/a"}}, "image_url.url"),
    ({"type": "image_url", "image_url": {"url": ""}}, "image_url.url"),
    ({"type": "image_url", "image_url": {"url": " https://example.com"}}, "image_url.url"),
    ({"type": "image_url", "image_url": {"url": "https://example.com\\@inner/"}}, "image_url.url"),
    ({"type": "image_url", "image_url": {"url": "HTTP://example.com"}}, "image_url.url"),
    ({"type": "image_url", "image_url": {"url": "gs://bucket/a.png"}}, "image_url.url"),
    ({"type": "image_url", "url": "javascript:alert(1)"}, "url"),
    ({"type": "file", "file": {"file_id": "https://example.com/a.pdf"}}, "file.file_id"),
    ({"type": "file", "file": {"file_id": "www.example.com/a.pdf"}}, "file.file_id"),
    ({"type": "file", "file": {"file_data": "http://example.com/a.pdf"}}, "file.file_data"),
    ({"type": "video_url", "video_url": {"url": "http://h/v.mp4"}}, "video_url.url"),
    ({"type": "tool_result", "content": [{"type": "image", "source": {"url": "http://h/x"}}]}, "content[0].source.url"),
    ({"type": "list", "urls": ["http://h/x"]}, "urls[0]"),
]


def _input(part: dict[str, Any]) -> dict[str, Any]:
    content = [{"type": "text", "text": "See."}, part]
    return {"type": "client.message", "agent_id": "a", "message": {"role": "user", "content": content}}


@pytest.mark.parametrize("part", FIT)
def test_data_and_secure_addresses_come_in(part: dict[str, Any]) -> None:
    assert parse_input(_input(part))


@pytest.mark.parametrize(("part", "field"), UNFIT)
def test_any_other_address_is_refused_where_it_stands(part: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_input(_input(part))
    assert refused.value.detail["field"] == f"message.content[1].{field}"
