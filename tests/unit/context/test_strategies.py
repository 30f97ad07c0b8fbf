"""X7, X11, X16, X17: when room is made."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agentflow.clock import SECOND
from agentflow.context.strategies import (
    Context,
    Plan,
    Strategy,
    idle_seconds,
    overflow_plan,
    plan,
    settings_due,
    settings_plan,
)
from agentflow.context.tokens import Report

RESET = Strategy("reset", idle_secs=3600)
SUMMARIZE = Strategy("summarize")
BOTH = Context(200_000, (RESET, SUMMARIZE))


def planned(
    context: Context,
    tokens: int = 0,
    *,
    first: bool = True,
    idle: float | None = None,
    resumed: bool = False,
    compacted: bool = False,
    gave_up: bool = False,
) -> Plan | None:
    return plan(
        context,
        tokens=tokens,
        first_call_of_turn=first,
        idle=idle,
        resumed=resumed,
        compacted_since_last_call=compacted,
        gave_up=gave_up,
    )


def test_the_window_less_its_reserve_is_still_room() -> None:
    """X11: more than window − 16 000, not as much."""
    assert planned(BOTH, 184_000) is None
    assert planned(BOTH, 184_001) == Plan("full", SUMMARIZE, 184_001, 200_000, 184_000)


@pytest.mark.parametrize(("over", "limit"), [(1_000, 1_000), (190_000, 184_000)])
def test_the_smaller_of_window_and_over_tokens_counts(over: int, limit: int) -> None:
    """X11: whichever is reached first."""
    context = Context(200_000, (Strategy("summarize", over_tokens=over),))
    assert planned(context, limit) is None
    assert planned(context, limit + 1) is not None


@pytest.mark.parametrize("window", [None, 0])
def test_without_window_and_over_tokens_size_never_counts(window: int | None) -> None:
    """X11: neither given, never by size."""
    assert planned(Context(window, (SUMMARIZE,)), 10**9) is None


def test_exactly_the_idle_time_is_long_enough() -> None:
    """X11: at least that long."""
    assert planned(BOTH, idle=3599.999) is None
    found = planned(BOTH, idle=3600)
    assert found == Plan("idle", RESET, 0, 200_000, None)


def test_idle_counts_only_at_the_first_call_of_a_later_turn() -> None:
    """X11: not inside a turn, not on a resumed step (X17), never on a first turn."""
    assert planned(BOTH, idle=7200, first=False) is None
    assert planned(BOTH, idle=7200, resumed=True) is None
    assert planned(BOTH, idle=None) is None


def test_the_first_strategy_listed_that_applies_sets_the_plan() -> None:
    """X11: in the order listed, and only when it applies."""
    swapped = replace(BOTH, strategies=(SUMMARIZE, RESET))
    found = [planned(BOTH, 190_000, idle=3600), planned(swapped, 190_000, idle=3600), planned(swapped, 0, idle=3600)]
    assert [each and (each.reason, each.use) for each in found] == [
        ("idle", "reset"),
        ("full", "summarize"),
        ("idle", "reset"),
    ]


@pytest.mark.parametrize(("tokens", "idle", "applies"), [(1001, 60, True), (1000, 60, False), (1001, 59, False)])
def test_idle_secs_and_over_tokens_must_both_hold(tokens: int, idle: float, applies: bool) -> None:
    """X11: and the window does not matter to a strategy that waits for idleness."""
    context = Context(200_000, (Strategy("summarize", idle_secs=60, over_tokens=1000),))
    assert (planned(context, tokens, idle=idle) is not None) == applies


@pytest.mark.parametrize("tried", [{"compacted": True}, {"gave_up": True}])
def test_size_is_not_asked_twice_between_two_calls_nor_after_giving_up(tried: dict[str, bool]) -> None:
    """X17, B19: the call goes out; idleness is another matter (`settings` may have come first)."""
    assert planned(BOTH, 199_000, **tried) is None
    assert planned(BOTH, 199_000, idle=3600, **tried) == Plan("idle", RESET, 199_000, 200_000, None)


@pytest.mark.parametrize("tried", [{"compacted": True}, {"gave_up": True}])
def test_a_strategy_for_idle_and_large_is_silent_after_an_attempt(tried: dict[str, bool]) -> None:
    """X17: it looks at the size."""
    context = Context(None, (Strategy("summarize", idle_secs=60, over_tokens=1000),))
    assert planned(context, 2000, idle=60, **tried) is None


def test_a_resumed_step_makes_room_by_size() -> None:
    """X17."""
    assert planned(BOTH, 184_001, resumed=True, idle=9999) == Plan("full", SUMMARIZE, 184_001, 200_000, 184_000)


def test_a_replace_helped_when_the_count_is_within_the_limit() -> None:
    """X17: otherwise the next try is next turn."""
    found = Plan("full", SUMMARIZE, 184_001, 200_000, 184_000)
    assert found.helped(184_000)
    assert not found.helped(184_001)
    assert replace(found, limit=None).helped(10**9)


def test_idleness_is_computed_on_instants() -> None:
    """B65: an hour is an hour, whatever the zone does; null on a first turn."""
    assert idle_seconds(None, 5 * SECOND) is None
    assert idle_seconds(1_792_891_800 * SECOND, 1_792_895_400 * SECOND) == 3600


@pytest.mark.parametrize("context", [None, Context(), Context(200_000, (RESET,))])
def test_overflow_proposes_a_summary_whatever_is_listed(context: Context | None) -> None:
    """X16."""
    found = overflow_plan(context, tokens=50_000)
    assert (found.reason, found.use, found.strategy, found.limit) == ("overflow", "summarize", None, 25_000)


def test_overflow_borrows_the_prompt_and_model_of_a_summarize_strategy() -> None:
    own = Strategy("summarize", prompt="Be brief.", llm="cheap")
    found = overflow_plan(Context(40_000, (RESET, own)), tokens=60_000)
    assert (found.strategy, found.limit) == (own, 24_000)
    assert overflow_plan(Context(8_000, (own,)), tokens=9_000).limit == 4_500


@pytest.mark.parametrize(
    ("report", "due"),
    [
        (Report(160_000, 0), True),
        (Report(159_999, 10**9), False),
        (Report(None, 640_000), True),
        (Report(0, 639_996), False),
        (None, False),
    ],
)
def test_settings_look_at_the_previous_call_alone(report: Report | None, due: bool) -> None:
    """X7: ≥ fraction × window; its own characters where it reported nothing (B20); no previous call, nothing to do."""
    assert settings_due(report, 0.8, 200_000) == due


@pytest.mark.parametrize(("fraction", "window"), [(0, 200_000), (0.8, 0), (-1, 200_000)])
def test_a_zero_switches_the_settings_off(fraction: float, window: int) -> None:
    """X7, B25."""
    assert not settings_due(Report(10**9, 0), fraction, window)


def test_settings_do_nothing_on_a_resumed_step() -> None:
    """X7, T6."""
    assert not settings_due(Report(10**9, 0), 0.8, 1000, resumed=True)


def test_the_fraction_is_taken_as_it_is_written() -> None:
    """0.55 × 100 is 55; as binary fractions it is a little more, and the compaction would come a call late."""
    assert settings_due(Report(55, 0), 0.55, 100)
    assert not settings_due(Report(54, 0), 0.55, 100)


def test_a_settings_plan_helped_when_its_trigger_is_off_again() -> None:
    """X17 and X20: `full`, named by no strategy."""
    found = settings_plan(Report(170_000, 0), 0.8, 200_000)
    assert found == Plan("full", None, 170_000, 200_000, 159_999)
    assert settings_plan(Report(9, 0), 0.55, 9).limit == 4
