"""Each character of a reply once, in order (T42, S3)."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from agentflow.events import LLM_DELTA, MODEL_LOADING, Event
from agentflow.reading.pieces import Pieces


def delta(text: str, offset: int, kind: str = "text") -> Event:
    return Event("s-1", None, "t-1", 5, LLM_DELTA, {"call_id": "c1", "offset": offset, kind: text})


def test_what_is_no_piece_passes() -> None:
    loading = Event("s-1", None, "t-1", 5, MODEL_LOADING, {"call_id": "c1"})
    assert Pieces().add(loading) == [loading]


def test_what_is_said_again_is_cut_to_what_is_new() -> None:
    pieces = Pieces()
    pieces.add(delta("abc", 0))
    assert [event.data for event in pieces.add(delta("bcde", 1))] == [{"call_id": "c1", "offset": 3, "text": "de"}]
    assert pieces.add(delta("abcde", 0)) == []


def test_text_and_reasoning_are_counted_apart() -> None:
    pieces = Pieces()
    pieces.add(delta("abc", 0))
    assert pieces.add(delta("x", 0, "reasoning"))


def test_a_reply_that_is_over_holds_nothing() -> None:
    pieces = Pieces()
    pieces.add(delta("later", 10))
    pieces.over("c1")
    assert pieces.add(delta("0123456789", 0)) == [delta("0123456789", 0)]


@given(st.data(), st.text("abcdef", min_size=1, max_size=40))
def test_in_whatever_order_and_however_often_pieces_come_the_text_is_whole(data: st.DataObject, text: str) -> None:
    cuts = sorted({0, len(text), *data.draw(st.lists(st.integers(0, len(text)), max_size=6))})
    parts = [delta(text[a:b], a) for a, b in pairwise(cuts)]
    again = data.draw(st.lists(st.sampled_from(parts), max_size=6))
    pieces, got = Pieces(), ""
    for part in data.draw(st.permutations([*parts, *again])):
        for event in pieces.add(part):
            assert event.data["offset"] == len(got)
            got += event.data["text"]
    assert got == text
