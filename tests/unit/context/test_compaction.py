"""X8, X9, X13, X16: what stays and what goes."""

from __future__ import annotations

import base64

import pytest

from agentflow.context.compaction import Cut, Reading, keep_recent, keep_turn, make_room, refusal, start_over
from agentflow.context.strategies import Plan, Strategy, overflow_plan
from agentflow.context.summary import summary_message
from agentflow.conversation.history import History, exchanges
from agentflow.message import Message, ToolCall

from .histories import asks, ids, says, summary_node, user

PARALLEL = [user("u1"), *asks("a1", 3, "Looking."), *asks("a2", 10), says("a3")]
REQUEST = user("u2", "Delete a94a8fe5.\nBut do NOT delete b17.\nThanks")


def reading(earlier: list[Message], current: list[Message], *, lean: bool = False, fixed: int = 0) -> Reading:
    return Reading([*earlier, *current], len(earlier), lean, fixed)


def test_a_run_of_results_is_never_cut() -> None:
    """B16: three and ten parallel calls, every count; X8: the count is met or slightly exceeded."""
    for count in range(1, 17):
        cut = keep_recent(reading(PARALLEL, [REQUEST]), count)
        if cut is None:
            assert count >= 16
            continue
        History().extend(cut.kept)
        recent = cut.kept[:-1]
        assert count <= len(recent) < count + 11
        assert ids(cut.older + cut.kept) == ids((*PARALLEL, REQUEST))


def test_the_new_messages_stay_byte_for_byte_beside_the_recent_ones() -> None:
    """X8, B24: in addition to the count, also two merged ones, and never among what is summarized."""
    merged = [REQUEST, user("u3", "and a nap at 2")]
    cut = keep_recent(reading(PARALLEL, merged), 1)
    assert cut is not None
    assert list(cut.kept) == [says("a3"), *merged]
    assert not {"u2", "u3"} & set(ids(cut.older))


def test_no_recent_messages_is_a_count_too() -> None:
    cut = keep_recent(reading(PARALLEL, [REQUEST]), 0)
    assert cut is not None
    assert list(cut.kept) == [REQUEST]


def test_recent_messages_are_counted_as_the_model_reads_them() -> None:
    """X8 with lean history: results do not count, but whole exchanges are kept for the tree (X18)."""
    cut = keep_recent(reading(PARALLEL, [REQUEST], lean=True), 2)
    assert cut is not None
    assert ids(cut.older) == ["u1"]
    assert len(cut.kept) == len(PARALLEL)


@pytest.mark.parametrize("earlier", [[], [user("u1"), says("a1")]])
def test_fewer_messages_than_are_kept_leave_nothing_to_summarize(earlier: list[Message]) -> None:
    """X8, B19 (a), B23: no call."""
    assert keep_recent(reading(earlier, [REQUEST]), 30) is None


def test_an_earlier_summary_is_not_summarized_alone() -> None:
    """B23: it is part of what the next summary reads, but only with something new."""
    summary = summary_node("S", "The code word is KIWI.")
    news = [user("u1"), says("a1")]
    assert keep_recent(reading([summary, *news], [REQUEST]), 2) is None
    assert keep_turn(reading([summary], [REQUEST]), limit=None, tokens=0) is None
    cut = keep_recent(reading([summary, *news], [REQUEST]), 1)
    assert cut is not None
    assert ids(cut.older) == ["S", "u1"]


def test_summarize_keeps_the_current_turn_alone() -> None:
    """X13."""
    current = [REQUEST, *asks("b1", 2)]
    cut = keep_turn(reading(PARALLEL, current, lean=True), limit=10_000, tokens=12_000)
    assert cut is not None
    assert list(cut.kept) == current
    assert ids(cut.older) == ["u1", "a1", "a3"]
    assert cut.older_of_turn == ()


LONG = [message for n in range(8) for message in asks(f"b{n}", 2, size=20_000)]


def test_a_turn_that_is_too_large_alone_loses_its_older_exchanges() -> None:
    """X13: the opening message and the newest exchanges stay, and the next call has room to spare."""
    tokens, limit = 80_000, 60_000
    cut = keep_turn(reading([], [REQUEST, *LONG]), limit=limit, tokens=tokens)
    assert cut is not None
    assert ids(cut.older_of_turn) == ids(tuple(LONG))[:18]
    assert ids(cut.kept) == ["u2", *ids(tuple(LONG))[18:]]
    assert cut.tokens_after("s" * 4_000) <= limit * 3 // 4


def test_the_opening_message_and_the_last_exchange_stay_however_large() -> None:
    """X13."""
    cut = keep_turn(reading([], [REQUEST, *LONG], fixed=500_000), limit=1, tokens=200_000)
    assert cut is not None
    assert ids(cut.kept) == ["u2", "b7", "b7r0", "b7r1"]


def test_open_calls_stay() -> None:
    """X13: from the first call that waits on, nothing goes."""
    waiting = Message("w", "assistant", None, tool_calls=(ToolCall("wc0", "search", "{}"),))
    cut = keep_turn(reading([], [REQUEST, *LONG, waiting, says("z")]), limit=1, tokens=100)
    assert cut is not None
    assert ids(cut.kept) == ["u2", "w", "z"]


def test_a_continuation_stays_with_the_answer_it_is_about() -> None:
    """X13: what nobody has answered yet is not eligible."""
    asked_again = Message("k", "user", "Check again.", hidden=True)
    cut = keep_turn(reading([], [REQUEST, *LONG, says("z"), asked_again]), limit=1, tokens=100)
    assert cut is not None
    assert ids(cut.kept) == ["u2", "z", "k"]


def test_a_turn_that_brought_no_message_keeps_the_one_it_answers() -> None:
    """B24 with C13: a reply is regenerated, the request stands before the turn."""
    everything = [*PARALLEL, REQUEST]
    for cut in (keep_recent(reading(everything, []), 0), start_over(reading(everything, []))):
        assert cut is not None
        assert list(cut.kept) == [REQUEST]
    handed_in = reading([*PARALLEL, REQUEST, *asks("b1", 1)[:1]], asks("b1", 1)[1:])
    cut = keep_turn(handed_in, limit=None, tokens=0)
    assert cut is not None
    assert ids(cut.kept) == ["u2", "b1", "b1r0"]


def test_the_summary_is_never_taken_for_the_request() -> None:
    """A compacted turn is cut again: the opening message after the summary is the one that stays."""
    summary = summary_node("S", "The code word is KIWI.")
    for turn_from in (0, 1):
        again = Reading([summary, REQUEST, *LONG], turn_from, lean=True, fixed_chars=0)
        cut = keep_turn(again, limit=1, tokens=100)
        assert cut is not None
        assert (ids(cut.older), cut.kept[0]) == (["S"], REQUEST)


def test_a_reset_keeps_only_the_current_turn() -> None:
    """X13: no summary, and an earlier one goes too."""
    summary = summary_node("S", "Old.")
    cut = start_over(reading([summary, *PARALLEL], [REQUEST]))
    assert cut is not None
    assert list(cut.kept) == [REQUEST]
    assert cut.tokens_after(None) < cut.tokens_before
    assert start_over(reading([], [REQUEST])) is None


def test_a_plan_says_which_cut() -> None:
    here = reading(PARALLEL, [REQUEST, *LONG])
    reset = Plan("idle", Strategy("reset", idle_secs=1), 90_000, None, None)
    assert make_room(reset, here) == start_over(here)
    full = Plan("full", Strategy("summarize"), 90_000, 60_000, 44_000)
    assert make_room(full, here) == keep_turn(here, limit=44_000, tokens=90_000)


def test_overflow_without_a_window_takes_at_least_half_away() -> None:
    """X16: the only thing known is that so much was too much."""
    cut = make_room(overflow_plan(None, tokens=80_000), reading([], [REQUEST, *LONG]))
    assert cut is not None
    assert cut.tokens_after("s" * 4_000) <= cut.tokens_before // 2


def test_a_dense_text_leaves_room_for_fewer_characters() -> None:
    """X5: the limit is in the provider's tokens; the more it counts for the same text, the more has to go."""
    here = reading([], [REQUEST, *LONG])
    loose = keep_turn(here, limit=60_000, tokens=80_000)
    dense = keep_turn(here, limit=60_000, tokens=240_000)
    assert loose is not None
    assert dense is not None
    assert len(dense.kept) < len(loose.kept)


@pytest.mark.parametrize(
    ("summary", "finish", "reason"),
    [
        ("", "stop", "blank"),
        (" \n ", "stop", "blank"),
        ("", "tool_calls", "blank"),
        ("Sam wants", "length", "unfinished"),
        ("Sam wants", "content_filter", "unfinished"),
        ("Sam wants", None, "unfinished"),
        ("s" * 400, "stop", "not_smaller"),
        ("Sam wants naps.", "stop", None),
    ],
)
def test_a_summary_is_checked_before_it_replaces_anything(summary: str, finish: str | None, reason: str | None) -> None:
    """X9, B22."""
    earlier = [user("u1", "q" * 200), says("a1", "w" * 200)]
    cut = keep_recent(reading(earlier, [REQUEST], fixed=1000), 0)
    assert cut is not None
    assert refusal(cut, summary, finish) == reason


def test_as_large_as_before_is_not_smaller() -> None:
    """X9: both estimates are whole tokens, equal is not smaller."""
    longest = len(summary_message("x")) - 1
    cut = Cut((user("u1"),), (), (REQUEST,), chars_before=400, chars_kept=400 - longest - 4)
    assert refusal(cut, "xxxx", "stop") == "not_smaller"
    assert refusal(Cut((), (), (), 405, cut.chars_kept), "xxxx", "stop") is None


def test_an_open_exchange_has_a_size() -> None:
    """It is not a request yet; the placeholder that will close it is counted."""
    waiting = asks("w", 2)[:2]
    cut = start_over(reading(PARALLEL, [REQUEST, *waiting]))
    assert cut is not None
    assert exchanges(cut.kept)[-1].open == ("wc1",)
    closed = History()
    closed.extend([REQUEST, *waiting, Message("", "tool", None, tool_call_id="wc1")])
    assert cut.chars_kept == closed.chars


def test_a_turn_that_fits_is_not_cut() -> None:
    """X13: only a turn that is too large alone; half of the room is where a cut ends, not where it begins."""
    cut = keep_turn(reading(PARALLEL, [REQUEST, *LONG]), limit=90_000, tokens=80_000)
    assert cut is not None
    assert cut.older_of_turn == ()


def test_an_exchange_the_current_turn_completes_is_read_whole() -> None:
    """X1: a result handed in makes its exchange part of the current turn."""
    asking, result = asks("b1", 1, size=500)
    cut = start_over(reading([*PARALLEL, REQUEST, asking], [result], lean=True))
    assert cut is not None
    assert cut.chars_kept > 500


def test_provider_data_counts_where_it_is_replayed() -> None:
    """T15: to the same model, in the current turn."""
    thought = Message("b1", "assistant", "Hm.", provider={"model": "m", "reasoning_content": "r" * 398})
    here = Reading([*PARALLEL, thought, REQUEST, thought], len(PARALLEL) + 1, False, 0, model="m")
    other = Reading(here.path, here.turn_from, False, 0, model="n")
    mine, theirs = start_over(here), start_over(other)
    assert mine is not None
    assert theirs is not None
    assert mine.chars_before - theirs.chars_before == 400
    assert mine.chars_kept - theirs.chars_kept == 400


def test_a_history_is_counted_by_the_rules_of_the_model_that_reads_it() -> None:
    """X5: in the request and in what a cut would leave of it."""
    header = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + (750).to_bytes(4, "big") + (100).to_bytes(4, "big")
    url = f"data:image/png;base64,{base64.b64encode(header + bytes(99_000)).decode()}"
    asked = Message("p", "user", [{"type": "image_url", "image_url": {"url": url}}])
    for model, tokens in (("anthropic/claude-x", 100), ("gemini/gemini-x", 258), ("other", 1600), (None, 1600)):
        history = History(model)
        history.extend([asked])
        assert history.chars == tokens * 4
        cut = start_over(Reading([asked, says("a"), REQUEST], 2, True, 0, model))
        assert cut is not None
        assert cut.chars_before - cut.chars_kept == tokens * 4 + len("done")
