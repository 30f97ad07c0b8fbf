"""A terminal shows each piece of text once, in order, and the answer whatever was streamed before it (T40)."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from cli.terminal.live import LiveText

PIECES = st.lists(st.tuples(st.sampled_from(["c1", "c2", "c3"]), st.text(min_size=1, max_size=5)), max_size=8)


def _show(pieces: list[tuple[str, str]], answer: str | None) -> str:
    live = LiveText()
    shown = [live.delta({"call_id": call_id, "offset": 0, "text": text}) for call_id, text in pieces]
    return "".join(shown) + live.end(answer)


def test_a_streamed_answer_is_not_printed_again() -> None:
    assert _show([("c1", "Hel"), ("c1", "lo")], "Hello") == "Hello\n"


def test_an_answer_that_was_not_streamed_is_printed_at_the_end() -> None:
    assert _show([], "Hello") == "Hello\n"
    assert _show([("c1", "Draft")], "Final") == "Draft\nFinal\n"


def test_each_model_call_starts_on_its_own_line() -> None:
    assert _show([("c1", "Let me look."), ("c2", "It rains.")], "It rains.") == "Let me look.\nIt rains.\n"


def test_reasoning_is_not_shown() -> None:
    live = LiveText()
    assert live.delta({"call_id": "c1", "offset": 0, "reasoning": "hm"}) == ""
    assert live.end(None) == ""


def test_what_a_sub_agent_tells_its_parent_is_not_shown_but_what_it_tells_the_user_is() -> None:
    """T34"""
    live = LiveText()
    assert live.delta({"call_id": "c1", "offset": 0, "text": "to my parent", "execution": 2}) == ""
    assert live.delta({"call_id": "c2", "offset": 0, "text": "to you", "execution": 3, "heard": True}) == "to you"
    assert live.end("to you") == "\n"


@settings(max_examples=50, deadline=None)
@given(PIECES, st.one_of(st.none(), st.text(max_size=8)))
def test_nothing_streamed_is_lost_and_the_last_line_ends(pieces: list[tuple[str, str]], answer: str | None) -> None:
    shown = _show(pieces, answer)
    assert "".join(text for _, text in pieces).replace("\n", "") in shown.replace("\n", "")
    assert (answer or "") in shown
    assert not shown or shown.endswith("\n")


def test_what_a_late_reader_missed_of_a_reply_is_printed_once_it_is_recorded() -> None:
    """Of a reply with tool calls it is told nowhere else; one whose call is not the main run's is not shown."""
    live = LiveText()
    live.requested({"call_id": "c1", "purpose": "main"})
    live.requested({"call_id": "c2", "purpose": "main"})
    live.requested({"call_id": "c3", "purpose": "main", "execution": 2})
    shown = live.delta({"call_id": "c1", "offset": 0, "text": "Let me "})
    shown += live.recorded({"id": "c1", "content": "Let me look."})
    shown += live.recorded({"id": "c1", "content": "Let me look."})
    shown += live.recorded({"id": "c3", "content": "a sub-agent's"})
    shown += live.recorded({"id": "of-the-client", "content": "sent with a view"})
    shown += live.recorded({"id": "c2", "content": "It rains."})
    assert shown + live.end("It rains.") == "Let me look.\nIt rains.\n"
