"""Limits: each counts what its name says, from what the user has agreed to on (T39)."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from agentflow.config.agent_config import Settings
from agentflow.message import ToolCall, Usage
from agentflow.turn.rules.limits import _COUNTED, Spent, reached

USED = Usage(10, 10, None, None, Decimal(10))
AT_LIMIT = {
    "max_iterations": Spent(iterations=10),
    "max_tool_calls": Spent(tool_calls=10),
    "max_consecutive_tool_errors": Spent(consecutive_errors=10),
    "max_repeated_calls": Spent(repeated=10),
    "max_input_tokens": Spent(),
    "max_output_tokens": Spent(),
    "max_cost": Spent(),
}
OF_USAGE = [name for name in AT_LIMIT if AT_LIMIT[name] == Spent()]


def allowing(name: str, allowed: float) -> Settings:
    off = {each: 0 for each, _ in _COUNTED}
    return Settings().model_copy(update={**off, name: allowed})


def test_every_limit_is_looked_at_here() -> None:
    assert [name for name, _ in _COUNTED] == list(AT_LIMIT)


@pytest.mark.parametrize("name", AT_LIMIT)
def test_a_limit_is_reached_when_it_is_used_up_and_0_is_none(name: str) -> None:
    spent = AT_LIMIT[name]
    assert reached(allowing(name, 10), spent, USED) == name
    assert reached(allowing(name, 11), spent, USED) is None
    assert reached(allowing(name, 0), spent, USED) is None


@pytest.mark.parametrize("name", OF_USAGE)
def test_what_the_user_has_agreed_to_counts_no_more(name: str) -> None:
    spent = replace(AT_LIMIT[name], before=Usage(4, 4, None, None, Decimal(4)))
    assert reached(allowing(name, 7), spent, USED) is None
    assert reached(allowing(name, 6), spent, USED) == name


def test_only_the_same_call_in_a_row_is_a_repetition() -> None:
    spent = Spent()
    for arguments, repeated in (("{}", 1), ("{}", 2), ('{"n":1}', 1), ('{"n":1}', 2), ("{}", 1)):
        spent.asked(ToolCall("id", "look", arguments))
        assert spent.repeated == repeated
