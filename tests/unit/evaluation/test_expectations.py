"""R9: what is met and what is not."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from agentflow import TurnResult, Usage
from agentflow.config.keys.case import Expectations
from agentflow.evaluation.expectations import CameTo, CannotTell, unmet
from agentflow.evaluation.made_calls import MadeCall

A, B = MadeCall("a", {"n": 1}), MadeCall("b", {"at": "2030-01-01T10:00:00Z"})


def came(*calls: MadeCall, **fields: Any) -> CameTo:
    told = {"state": "done", "answer": "It is 7.", "usage": Usage(10, 5, cost=Decimal("0.25"))} | fields
    return CameTo(TurnResult("s", "t", 1, **told), calls, {"x": 1})


@pytest.mark.parametrize(
    ("expected", "calls", "said"),
    [
        ({}, [A], []),
        ({"state": "failed"}, [], ["state"]),
        ({"answer": " It is 7.\n"}, [], []),
        ({"answer": "it is 7."}, [], ["answer"]),
        ({"answer": {"contains": "is", "matches": r"\d\."}}, [], []),
        ({"answer": {"contains": "8", "matches": r"^\d"}}, [], ["answer", "answer"]),
        ({"tools": []}, [A], ["tools"]),
        ({"tools": ["a", "b"]}, [B, A], []),
        ({"tools": ["a", {"name": "a", "arguments": {"n": 1}}]}, [A, MadeCall("a", {"n": 2})], []),
        ({"tools": ["a", "a"]}, [A], ["tools"]),
        ({"tools": [{"name": "a", "arguments": {"n": 1.0}}]}, [A], ["tools", "tools"]),
        ({"tools": [{"name": "b", "arguments": {"at": "2031-05-01T00:00:00+01:00"}}]}, [B], []),
        ({"tools": [{"name": "a", "arguments": {}}]}, [MadeCall("a", None)], ["tools", "tools"]),
        ({"agent_state": {"x": 1}, "max_tokens": 15, "max_cost": 0.25}, [], []),
        ({"agent_state": {"x": True}}, [], ["agent_state"]),
        ({"limit": "max_cost", "data": {"a": 1}}, [], ["data", "limit"]),
        ({"max_tokens": 14, "max_cost": 0.2}, [], ["max_tokens", "max_cost"]),
    ],
)
def test_what_is_not_as_expected_is_named(expected: dict[str, Any], calls: list[MadeCall], said: list[str]) -> None:
    found = unmet(Expectations.model_validate(expected), came(*calls))
    assert [each.partition(":")[0] for each in found] == said


@pytest.mark.parametrize("expected", [{"max_tokens": 1}, {"max_cost": 1}])
def test_a_ceiling_of_what_nobody_knows_is_neither_kept_nor_broken(expected: dict[str, Any]) -> None:
    with pytest.raises(CannotTell):
        unmet(Expectations.model_validate(expected), came(usage=Usage()))


def test_a_pattern_that_takes_too_long_is_given_up() -> None:
    """Z3."""
    with pytest.raises(CannotTell, match="takes too long"):
        unmet(Expectations.model_validate({"answer": {"matches": "(?:x+x+)+y"}}), came(answer="x" * 1_000_000))
