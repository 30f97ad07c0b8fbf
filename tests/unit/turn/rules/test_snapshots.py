"""R8: the decision is pure, and the same in every process."""

from __future__ import annotations

from typing import Any

import pytest

from agentflow.config.keys.agent import Settings
from agentflow.turn.rules.snapshots import of_session, of_turn


@pytest.mark.parametrize(("rate", "least", "most"), [(0, 0, 0), (0.1, 150, 250), (0.5, 900, 1100), (1, 2000, 2000)])
def test_a_sample_is_the_part_of_all_sessions_that_the_rate_says(rate: float, least: int, most: int) -> None:
    settings = Settings(snap_session_mode="sample", snap_session_rate=rate)
    assert least <= sum(of_session(settings, f"session-{number}").taken for number in range(2000)) <= most


def test_a_session_of_a_smaller_sample_is_in_every_larger_one() -> None:
    small, large = (Settings(snap_session_mode="sample", snap_session_rate=rate) for rate in (0.2, 0.6))
    ids = [f"session-{number}" for number in range(500)]
    assert {each for each in ids if of_session(small, each).taken} < {
        each for each in ids if of_session(large, each).taken
    }


def test_the_decision_of_an_id_never_changes() -> None:
    settings = Settings(snap_session_mode="sample", snap_session_rate=0.5)
    assert of_session(settings, "s-1") == of_session(settings, "s-1")
    assert [of_session(settings, each).taken for each in ("a", "b", "c", "d")] == [False, True, False, False]


@pytest.mark.parametrize(
    ("environment", "settings", "expected"),
    [
        ("production", {}, None),
        ("studio", {}, True),
        ("evaluation", {"snap_session_mode": "all"}, False),
        ("studio", {"observability": False}, False),
        ("production", {"observability": False, "snap_session_mode": "all"}, False),
    ],
)
def test_what_holds_for_a_turn_whatever_the_session_says(
    environment: str, settings: Any, expected: bool | None
) -> None:
    decided = of_turn(environment, Settings(**settings))
    assert (None if decided is None else decided.taken) is expected
