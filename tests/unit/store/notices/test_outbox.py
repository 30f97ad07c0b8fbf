"""What waits to be sent, packed into notices (S3)."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agentflow.events import LLM_DELTA, MODEL_LOADING, Event
from agentflow.store.notices.outbox import MOST_BYTES, ROUNDS_BETWEEN_PIECES, Outbox, read


def delta(text: str, offset: int = 0, call_id: str = "c1", kind: str = "text") -> Event:
    return Event("s-1", None, "t-1", 5, LLM_DELTA, {"call_id": call_id, "offset": offset, kind: text})


def heard(payloads: list[str]) -> list[Any]:
    return [notice for payload in payloads for notice in read(payload)]


def test_of_a_session_only_the_last_number_is_sent() -> None:
    outbox = Outbox()
    outbox.committed({1: 4, 2: 9})
    outbox.committed({1: 7})
    assert heard(outbox.take()) == [["seq", 1, 7], ["seq", 2, 9]]
    assert not outbox
    assert outbox.take() == []


def test_pieces_of_a_reply_go_out_together_every_few_rounds() -> None:
    """S3: at most 20 a second for each reply."""
    outbox = Outbox()
    outbox.tell(1, delta("a"))
    assert heard(outbox.take()) == [["event", 1, "t-1", 5, LLM_DELTA, {"call_id": "c1", "offset": 0, "text": "a"}]]
    outbox.tell(1, delta("b", 1))
    outbox.tell(1, delta("c", 2))
    rounds = [heard(outbox.take()) for _ in range(ROUNDS_BETWEEN_PIECES)]
    assert [len(sent) for sent in rounds] == [0] * (ROUNDS_BETWEEN_PIECES - 1) + [1]
    assert rounds[-1][0][-1] == {"call_id": "c1", "offset": 1, "text": "bc"}


def test_a_reply_that_rests_still_needs_its_rounds() -> None:
    outbox = Outbox()
    outbox.tell(1, delta("a"))
    outbox.take()
    assert not outbox
    assert outbox.is_resting
    for _ in range(ROUNDS_BETWEEN_PIECES):
        outbox.take()
    assert not outbox.is_resting


def test_the_end_sends_what_rests() -> None:
    outbox = Outbox()
    outbox.tell(1, delta("a"))
    outbox.take()
    outbox.tell(1, delta("b", 1))
    assert len(heard(outbox.take(all_of_it=True))) == 1


def test_what_is_said_again_from_the_start_loses_nothing() -> None:
    outbox = Outbox()
    outbox.tell(1, delta("cd", 2))
    outbox.tell(1, delta("abcd", 0))
    assert [notice[-1]["offset"] for notice in heard(outbox.take())] == [2, 0]


def test_an_event_that_fits_into_no_notice_is_left_out() -> None:
    outbox = Outbox()
    outbox.tell(1, Event("s-1", None, "t-1", 5, MODEL_LOADING, {"call_id": "c", "model": "m" * MOST_BYTES}))
    outbox.committed({1: 1})
    assert heard(outbox.take()) == [["seq", 1, 1]]


def test_what_others_say_on_the_channel_is_no_notice() -> None:
    assert [read(text) for text in ("", "hello", "7", '{"a": 1}', "[1, 2]")] == [[]] * 5


@given(st.lists(st.text(st.characters(), max_size=4000), max_size=6), st.sampled_from(["text", "reasoning"]))
def test_pieces_come_whole_and_no_notice_is_too_long(texts: list[str], kind: str) -> None:
    """F12: whatever is in them, once escaped."""
    outbox, said = Outbox(), ""
    for text in texts:
        if text:
            outbox.tell(1, delta(text, len(said), kind=kind))
        said += text
    payloads = outbox.take()
    assert all(len(payload.encode()) <= MOST_BYTES for payload in payloads)
    got = ""
    for notice in heard(payloads):
        assert notice[-1]["offset"] == len(got)
        got += notice[-1][kind]
    assert got == said
