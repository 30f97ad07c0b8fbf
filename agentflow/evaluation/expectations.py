"""What a turn came to, against what its case expects (R9). Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from agentflow.bounds import patterns
from agentflow.config.keys.base import plain
from agentflow.config.keys.case import Expectations, ExpectedAnswer, ExpectedCall
from agentflow.conversation.state import same_json
from agentflow.evaluation.made_calls import MadeCall, called, same_arguments
from agentflow.result import TurnResult
from agentflow.text import compact_json, preview

_SHOWN = 500


@dataclass(frozen=True, slots=True)
class CameTo:
    """A turn that has run: its result, the calls of its main agent, and the agent's state after it.

    `calls` are null where they were erased.
    """

    result: TurnResult
    calls: tuple[MadeCall, ...] | None
    agent_state: Any


class CannotTell(Exception):
    """It is not known whether an expectation is met; the message says why."""


def unmet(expected: Expectations, came: CameTo) -> list[str]:
    """What is not as expected, a sentence each. Raises `CannotTell`."""
    return [said for check in _CHECKS for said in check(expected, came)]


def _state(expected: Expectations, came: CameTo) -> list[str]:
    result = came.result
    if result.state == expected.state:
        return []
    why = f": {result.error['message']}" if result.error else ""
    return [f"state: expected {expected.state}, the turn is {result.state}{why}"]


def _answer(expected: Expectations, came: CameTo) -> list[str]:
    wanted, said = expected.answer or ExpectedAnswer(), came.result.answer or ""
    found = []
    if wanted.text is not None and wanted.text.strip() != said.strip():
        found.append(f"answer: expected {_shown(wanted.text)}, it is {_shown(said)}")
    if wanted.contains is not None and wanted.contains not in said:
        found.append(f"answer: {_shown(wanted.contains)} is not in {_shown(said)}")
    if wanted.matches is not None:
        try:
            matches = patterns.compiled(wanted.matches).find(said) is not None
        except patterns.TookTooLong as error:
            raise CannotTell(f"answer: {error}") from None
        if not matches:
            found.append(f"answer: the pattern {wanted.matches!r} is not found in {_shown(said)}")
    return found


def _tools(expected: Expectations, came: CameTo) -> list[str]:
    missing, left = _compared(expected, came)
    said = [f"tools: {called(each.name, each.arguments)} was not called" for each in missing]
    return said + [f"tools: {each} was called, and is not expected" for each in left]


def unexpected(expected: Expectations, came: CameTo) -> list[MadeCall]:
    """The calls that the agent was not to make; none where nothing is said of calls. Raises `CannotTell`."""
    return _compared(expected, came)[1]


def _compared(expected: Expectations, came: CameTo) -> tuple[list[ExpectedCall], list[MadeCall]]:
    """The calls that were not made, and those that were and should not."""
    if "tools" not in expected.model_fields_set:
        return [], []
    if came.calls is None:
        raise CannotTell("tools: the agent has `observability: false`, and what it called is erased")
    left, missing = list(came.calls), []
    for wanted in sorted(expected.tools, key=lambda each: each.arguments is None):  # the choosy ones choose first
        made = next((each for each in left if _is(wanted, each)), None)
        if made is None:
            missing.append(wanted)
        else:
            left.remove(made)
    return missing, left


def _is(wanted: ExpectedCall, made: MadeCall) -> bool:
    if wanted.name != made.name:
        return False
    if wanted.arguments is None:
        return True
    return made.arguments is not None and same_arguments(wanted.arguments, made.arguments)


def _json(name: str, read: Callable[[CameTo], Any]) -> Callable[[Expectations, CameTo], list[str]]:
    """A check that a value is the very same JSON."""

    def check(expected: Expectations, came: CameTo) -> list[str]:
        wanted, found = plain(getattr(expected, name)), read(came)
        if wanted is None or same_json(wanted, found):
            return []
        return [f"{name}: expected {_shown(wanted)}, it is {_shown(found)}"]

    return check


def _tokens(expected: Expectations, came: CameTo) -> list[str]:
    if not expected.max_tokens:
        return []
    used = came.result.usage.total
    if used is None:
        raise CannotTell("max_tokens: the model has not said how many tokens it used")
    return [f"max_tokens: {used:,} tokens, at most {expected.max_tokens:,}"] if used > expected.max_tokens else []


def _cost(expected: Expectations, came: CameTo) -> list[str]:
    if not expected.max_cost:
        return []
    spent = came.result.usage.cost
    if spent is None:
        raise CannotTell("max_cost: what the turn cost is not known")
    return [f"max_cost: ${spent}, at most ${expected.max_cost:g}"] if float(spent) > expected.max_cost else []


_CHECKS: Sequence[Callable[[Expectations, CameTo], list[str]]] = (
    _state,
    _answer,
    _tools,
    _json("agent_state", lambda came: came.agent_state),
    _json("data", lambda came: came.result.data),
    _json("limit", lambda came: came.result.limit),
    _tokens,
    _cost,
)


def _shown(value: Any) -> str:
    return preview(compact_json(value), _SHOWN)
