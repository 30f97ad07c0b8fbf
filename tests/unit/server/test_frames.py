"""S6: events as bytes, read by the standard's own rules."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentflow import Event
from agentflow.server.encoding import json_bytes
from agentflow.server.streams.cursor import Start, start_of
from agentflow.server.streams.frames import event_frame, frame
from tests.asgi import frames

ODD = "a\u2028b\u2029c\x85d\x0be\x0cf\x1cg\rh\r\ni\n\n\nid: 9\n\ndata: x\n"


@given(st.text() | st.just(ODD))
def test_a_text_comes_as_it_was_whatever_is_in_it(text: str) -> None:
    """F09: also for readers that take every line end of Unicode for one."""
    made = event_frame(Event("s\n\n", 7, "t\r", 0, "message.new", {"text": text}), "abc123")
    (read,) = frames(made)
    assert (read["id"], read["event"]) == ("7-abc123", "message.new")
    assert json.loads(read["data"])["data"]["text"].encode("utf-8", "surrogatepass") == text.encode(
        "utf-8", "surrogatepass"
    )
    assert len(made.decode().splitlines()) == len(made.split(b"\n")) - 1


def test_a_name_cannot_begin_a_field_of_its_own() -> None:
    assert frames(frame("a\nid: 9\r\ndata: b", {}, "1\n\nevent: c")) == [
        {"id": "1 event: c", "event": "a id: 9 data: b", "data": "{}"}
    ]


def test_what_is_not_logged_has_no_id() -> None:
    """F08: a browser would go on behind it."""
    assert "id" not in frames(event_frame(Event("s", None, None, 0, "llm.delta", {}), "abc123"))[0]


def test_an_error_has_a_name_that_browsers_leave_alone() -> None:
    (read,) = frames(event_frame(Event("s", 1, None, 0, "error", {}), "abc123"))
    assert (read["event"], json.loads(read["data"])["type"]) == ("turn.error", "error")


def test_half_a_character_does_not_break_an_answer() -> None:
    assert json.loads(json_bytes({"a": "\udc80"})) == {"a": "\udc80"}


@pytest.mark.parametrize(
    ("last_event_id", "after", "start"),
    [
        (None, None, Start(2)),
        ("", None, Start(2)),
        (None, 5, Start(5)),
        ("7-abc123", 3, Start(7)),
        ("10-abc123", None, Start(10)),
        ("11-abc123", None, Start(2, resync=True)),
        ("7-fff000", None, Start(2, resync=True)),
        ("7", None, Start(2, resync=True)),
        ("abc", 3, Start(2, resync=True)),
        ("-1-abc123", None, Start(2, resync=True)),
        ("1.5-abc123", None, Start(2, resync=True)),
        (" 7-abc123", None, Start(2, resync=True)),
        ("99999999999999999999-abc123", None, Start(2, resync=True)),
        (None, 11, Start(2, resync=True)),
    ],
)
def test_a_reader_goes_on_where_it_was_or_is_told_that_it_cannot(
    last_event_id: str | None, after: int | None, start: Start
) -> None:
    """S6, F08: the log has ten events, the turn begins behind the second."""
    assert start_of(last_event_id, after, begin=2, seq=10, log_id="abc123") == start
