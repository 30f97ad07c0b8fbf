"""B16, B19, B23, B24 as laws over random histories."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from agentflow.context.compaction import Cut, Reading, keep_recent, keep_turn, make_room, refusal, start_over
from agentflow.context.strategies import Context, Strategy, overflow_plan, plan
from agentflow.context.summary import summary_request
from agentflow.context.tokens import tokens_to_read
from agentflow.conversation.history import History, build_request, exchanges, lean
from agentflow.message import Message

from .histories import ids, readings, summary_node

lawful = settings(max_examples=40, deadline=None)
limits = st.one_of(st.none(), st.integers(1, 40_000))


def cuts_of(reading: Reading, count: int, limit: int | None) -> list[Cut]:
    tokens = tokens_to_read(None, chars(reading))
    found = [
        keep_recent(reading, count),
        keep_turn(reading, limit=limit, tokens=tokens),
        start_over(reading),
        make_room(overflow_plan(None, tokens=tokens), reading),
    ]
    return [cut for cut in found if cut is not None]


def chars(reading: Reading) -> int:
    """The characters of the real request; calls that wait are closed as repair would close them."""
    earlier, current = History(), History()
    before, now = reading.path[: reading.turn_from], list(reading.path[reading.turn_from :])
    earlier.extend(lean(before) if reading.lean else before)
    current.extend([*now, *(Message("", "tool", tool_call_id=call) for each in exchanges(now) for call in each.open)])
    return build_request("p" * reading.fixed_chars, earlier, [], current, 0).chars


def replaced(reading: Reading, cut: Cut, summary: str) -> Reading:
    """The path after the `context.replace`, as the engine reads it."""
    path = [summary_node("new", summary), *cut.kept]
    turn_from = len(path) - sum(message.id.startswith("now") for message in path)
    return Reading(path, turn_from, reading.lean, reading.fixed_chars)


@lawful
@given(readings(), st.integers(0, 40), limits)
def test_every_exchange_goes_or_stays_as_a_whole_and_in_order(reading: Reading, count: int, limit: int | None) -> None:
    """B16."""
    for cut in cuts_of(reading, count, limit):
        kept = set(ids(cut.kept))
        whole = [each for each in exchanges(reading.path) if each.message.id in kept]
        assert cut.kept == tuple(message for each in whole for message in each.messages())
        assert not kept & set(ids(cut.older + cut.older_of_turn))


@lawful
@given(readings(), st.integers(0, 60), st.sampled_from([None, "gpt-4o", "claude-x"]))
def test_reading_more_never_counts_less(reading: Reading, number: int, model: str | None) -> None:
    """X5: whole exchanges, pictures among them."""
    picture = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}
    path = [each for group in exchanges(reading.path) if not group.open for each in group.messages()]
    path = [replace(each, content=[picture]) if each.role == "user" and each.content == "hi" else each for each in path]
    part, whole = History(model), History(model)
    part.extend(message for group in exchanges(path)[:number] for message in group.messages())
    whole.extend(path)
    assert 0 <= part.chars <= whole.chars
    assert tokens_to_read(None, part.chars) <= tokens_to_read(None, whole.chars)


@lawful
@given(readings(), st.integers(0, 40), limits)
def test_the_request_open_calls_and_the_newest_message_stay(reading: Reading, count: int, limit: int | None) -> None:
    """B24, X13."""
    waiting = [each.message for each in exchanges(reading.path) if each.open]
    opening = [message for message in reading.path if message.id.startswith("nowu")]
    for cut in cuts_of(reading, count, limit):
        assert all(message in cut.kept for message in [*opening, *waiting, reading.path[-1]])


@lawful
@given(readings(), st.integers(0, 40), limits)
def test_nothing_that_was_read_is_lost_between_summary_and_kept(
    reading: Reading, count: int, limit: int | None
) -> None:
    """Lean drops what was not read anyway; everything else is summarized or kept, an earlier summary first."""
    before = reading.path[: reading.turn_from]
    read = {*ids(tuple(lean(before) if reading.lean else before)), *ids(tuple(reading.path[reading.turn_from :]))}
    for cut in cuts_of(reading, count, limit):
        assert read <= {*ids(cut.older), *ids(cut.older_of_turn), *ids(cut.kept)}
        if reading.path[0].summary:
            assert cut.older[0] == reading.path[0]


@lawful
@given(readings(), st.integers(0, 40))
def test_the_count_is_met_and_exceeded_by_less_than_an_exchange(reading: Reading, count: int) -> None:
    """X8."""
    cut = keep_recent(reading, count)
    if cut is None:
        return
    recent = [each for each in exchanges(cut.kept) if not each.message.id.startswith("now")]
    sizes = [len(lean(each.messages()) if reading.lean else each.messages()) for each in recent]
    assert sum(sizes) >= count
    assert sum(sizes[1:]) < max(count, 1)


@lawful
@given(readings(), st.integers(0, 40), limits, st.integers(1, 3_000))
def test_an_accepted_summary_makes_the_real_request_smaller(
    reading: Reading, count: int, limit: int | None, size: int
) -> None:
    """X9: the two sizes are those of the request builder, and never larger after than before."""
    for cut in cuts_of(reading, count, limit):
        summary = "s" * size
        assert cut.chars_before == chars(reading)
        assert cut.tokens_after(summary) == tokens_to_read(None, chars(replaced(reading, cut, summary)))
        if refusal(cut, summary, "stop") is None:
            assert chars(replaced(reading, cut, summary)) < chars(reading)


@lawful
@given(readings(), limits)
def test_a_turn_is_cut_only_when_it_does_not_fit(reading: Reading, limit: int | None) -> None:
    """X13: and earlier turns go first."""
    cut = keep_turn(reading, limit=limit, tokens=tokens_to_read(None, chars(reading)))
    if cut is not None and cut.older_of_turn:
        assert limit is not None
        assert not [message for message in cut.kept if not message.id.startswith("now")]
    if cut is not None and limit is None:
        assert cut.older_of_turn == ()


@lawful
@given(readings(), st.integers(1, 30_000), st.integers(1, 4_000), st.integers(1, 6))
def test_room_is_made_at_most_once_between_two_calls_and_never_again_when_it_did_not_help(
    reading: Reading, limit: int, size: int, calls: int
) -> None:
    """X17, B19: whatever the summarizer answers, the loop asks it at most once per call and stops after a no-op."""
    context = Context(None, (Strategy("summarize", over_tokens=limit),))
    asked, gave_up = 0, False
    for number in range(calls):
        compacted = False
        while found := plan(
            context,
            tokens=tokens_to_read(None, chars(reading)),
            first_call_of_turn=number == 0,
            idle=None,
            resumed=False,
            compacted_since_last_call=compacted,
            gave_up=gave_up,
        ):
            assert not compacted
            assert not gave_up
            compacted, cut = True, make_room(found, reading)
            if cut is None or refusal(cut, "s" * size, "stop"):
                gave_up = True
                continue
            asked += 1
            reading = replaced(reading, cut, "s" * size)
            gave_up = not found.helped(tokens_to_read(None, chars(reading)))
    assert asked <= calls


@lawful
@given(readings(), st.integers(0, 40), limits)
def test_the_summary_request_is_bounded_and_the_second_one_reads_less(
    reading: Reading, count: int, limit: int | None
) -> None:
    """X15, B18, B23: results of 20 000 characters are cut, the earlier summary is in both requests."""
    for cut in cuts_of(reading, count, limit):
        request = summary_request(cut.older, cut.older_of_turn)
        second = request.shorter()
        assert request.chars == sum(len(message["content"]) for message in request.messages)
        assert all(len(entry) < 4 * 4_500 + 1_000 for entry in request.entries)
        assert second is not None
        assert sum(map(len, second.entries)) <= sum(map(len, request.entries)) // 2 + 60
        assert second.earlier == request.earlier == ("Sam logs naps." if reading.path[0].summary else "")
        assert second.shorter() is None
