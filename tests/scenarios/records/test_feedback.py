"""R11: a person rates a step; a later rating replaces the earlier; all of it goes with the session."""

from __future__ import annotations

from typing import Any

import pytest

from agentflow import InvalidInput, SessionNotFound, StepNotFound
from agentflow.testing import Kit
from tests.scenarios.support import rows

KEPT = "SELECT step, rating, comment FROM feedback ORDER BY step"


@pytest.fixture
def rated(agentflow: Kit) -> Kit:
    agentflow.agent(replies=lambda request: {"text": "ok"})
    agentflow.send("one")
    agentflow.send("two")
    return agentflow


def rate(kit: Kit, *given: Any) -> dict[str, Any]:
    return dict(kit.run(kit.runtime.records.feedback("s-1", *given)))


def test_a_later_rating_of_a_step_replaces_the_earlier_one(rated: Kit) -> None:
    rate(rated, 1, "down", "too short")
    rate(rated, 2, 4)
    assert rate(rated, 1, "up") == {"session_id": "s-1", "step_order": 1, "rating": "up", "comment": None}
    assert rows(rated._db, KEPT) == [(1, "up", None), (2, "4", None)]


@pytest.mark.parametrize("order", [3, 2**31, 2**62])
def test_a_step_that_is_not_there_is_refused_and_nothing_is_kept(rated: Kit, order: int) -> None:
    with pytest.raises(StepNotFound, match="its steps are 1 to 2") as refused:
        rate(rated, order, "up")
    assert refused.value.code == "step_not_found"
    assert rows(rated._db, KEPT) == []


@pytest.mark.parametrize("rating", ["6", 0, "Up", "", None, True, 4.0, ["up"]])
def test_a_rating_is_one_of_seven_words(rated: Kit, rating: Any) -> None:
    with pytest.raises(InvalidInput, match="up, down or 1 to 5"):
        rate(rated, 1, rating)
    assert rows(rated._db, KEPT) == []


def test_a_comment_has_at_most_10_000_characters(rated: Kit) -> None:
    with pytest.raises(InvalidInput, match="A comment has at most 10,000 characters"):
        rate(rated, 1, "up", "x" * 10_001)
    assert rate(rated, 1, "up", "x" * 10_000)["comment"] == "x" * 10_000


def test_feedback_goes_with_its_session_and_cannot_come_after_it(rated: Kit) -> None:
    rate(rated, 1, "up")
    rated.run(rated.runtime.delete("s-1"))
    assert rows(rated._db, KEPT) == []
    with pytest.raises(SessionNotFound):
        rate(rated, 1, "up")


def test_a_rating_is_a_use_of_the_session(rated: Kit) -> None:
    """R12: activity is the latest of any write of the session."""
    before = rated.run(rated.runtime.session("s-1"))["updated_at"]
    rated.advance(60)
    rate(rated, 1, "up")
    assert rated.run(rated.runtime.session("s-1"))["updated_at"] > before


def test_a_rating_is_shown_in_the_trace_of_its_step(rated: Kit) -> None:
    """R11: shown in trace and insights."""
    rate(rated, 2, "down", "too short")
    (step,) = rated.run(rated.runtime.trace("s-1"))["steps"]
    assert step["feedback"] == {"rating": "down", "comment": "too short"}
    (first,) = rated.run(rated.runtime.trace("s-1", 1))["steps"]
    assert first["feedback"] is None
