"""Whatever an author's types and values do while a call is prepared or read stays one error result (T14, D60, D63)."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pytest
from pydantic import BaseModel, field_validator

from agentflow.message import ToolCall
from agentflow.tools.calls import Prepared, change, execute, is_long, prepare, prepare_apart
from agentflow.tools.flows.context import FlowContext
from agentflow.tools.flows.library import make_flow
from agentflow.tools.results import ToolResult
from agentflow.tools.tool import Tool, tool_of


def ready(function: Callable[..., Any], arguments: str = "", **limits: Any) -> Prepared:
    prepared = prepare(ToolCall("c1", "flow", arguments), {"flow": tool_of(make_flow(function, "flow"), **limits)})
    assert isinstance(prepared, Prepared)
    return prepared


def as_sync(function: Callable[..., Any]) -> Callable[..., Any]:
    return function


def as_async(function: Callable[..., Any]) -> Callable[..., Awaitable[Any]]:
    async def flow(**values: Any) -> Any:
        return function(**values)

    flow.__wrapped__ = function  # type: ignore[attr-defined]  # the signature is the function's
    return flow


class Checked(BaseModel):
    """`how` says what its validator does."""

    how: str

    @field_validator("how")
    @classmethod
    def _check(cls, how: str) -> str:
        if how == "KeyError":
            raise KeyError("the author's own")
        if how == "StopIteration":
            raise StopIteration
        if how == "exit":
            sys.exit(3)
        if how == "hang":
            threading.Event().wait(30)
        return how


@pytest.mark.parametrize("colour", [as_sync, as_async])
@pytest.mark.parametrize(
    ("how", "said"),
    [("KeyError", "the author's own"), ("exit", "SystemExit: 3"), ("StopIteration", "StopIteration")],
)
def test_a_validator_that_raises_anything_is_one_error_result(colour: Any, how: str, said: str) -> None:
    """T14, D60: the process lives, the flow does not run."""
    ran = []

    def take(value: Checked) -> str:
        ran.append(value)
        return "ran"

    flow = colour(take)
    result = asyncio.run(execute(ready(flow, json.dumps({"value": {"how": how}})), FlowContext()))
    assert (result.error_code, ran) == ("invalid_arguments", [])
    assert said in result.text


@pytest.mark.parametrize("colour", [as_sync, as_async])
def test_a_validator_that_hangs_is_given_up_and_blocks_nobody(colour: Any) -> None:
    """T14, D60"""

    def take(value: Checked) -> str:
        return value.how

    async def both() -> list[ToolResult]:
        hangs = ready(colour(take), '{"value": {"how": "hang"}}', timeout_secs=0.05)
        works = ready(colour(take), '{"value": {"how": "fine"}}')
        return list(await asyncio.gather(execute(hangs, FlowContext()), execute(works, FlowContext())))

    hung, fine = asyncio.run(both())
    assert (hung.error_code, fine.text) == ("timeout", "fine")


def test_a_post_init_that_raises_is_one_error_result() -> None:
    """D60"""

    @dataclass
    class Place:
        city: str

        def __post_init__(self) -> None:
            raise LookupError(self.city)

    def go(place: Place) -> None: ...

    go.__annotations__ = {"place": Place}
    result = asyncio.run(execute(ready(go, '{"place": {"city": "Rome"}}'), FlowContext()))
    assert (result.error_code, "LookupError: Rome" in result.text) == ("invalid_arguments", True)


@pytest.mark.parametrize("colour", [as_sync, as_async])
def test_what_an_iterator_raises_is_the_flows_own_error(colour: Any) -> None:
    """D63: it is gone through inside the flow's time."""

    def divide() -> Any:
        return (1 // n for n in (1, 0))

    result = asyncio.run(execute(ready(colour(divide)), FlowContext()))
    assert result.text.startswith("Error: ZeroDivisionError")


def long_call() -> ToolCall:
    return ToolCall("c-1", "look", '{"x": "' + "a" * 30_000 + '"}')


def checked_by(check: Callable[[Any], str | None], **limits: Any) -> dict[str, Tool]:
    return {"look": Tool("look", "Look.", {"type": "object"}, check=check, **limits)}


def test_long_arguments_are_checked_on_a_thread() -> None:
    """T14: what a schema has to say of them is not waited for by everybody else."""
    threads: list[threading.Thread] = []
    tools = checked_by(lambda _: threads.append(threading.current_thread()))
    assert isinstance(asyncio.run(prepare_apart(long_call(), tools)), Prepared)
    assert threads != [threading.current_thread()]
    assert (is_long(long_call()), is_long(ToolCall("c-1", "look", '{"x": "a"}'))) == (True, False)


def test_a_check_that_does_not_end_is_given_up_with_the_time_of_the_tool() -> None:
    never = threading.Event()
    given_up = asyncio.run(prepare_apart(long_call(), checked_by(lambda _: never.wait(30) and None, timeout_secs=0.05)))
    never.set()
    assert isinstance(given_up, ToolResult)
    assert (given_up.error_code, given_up.ok) == ("invalid_arguments", False)
    assert "could not be checked within 0.05 seconds" in given_up.text


def test_long_arguments_that_a_hook_gives_are_checked_on_a_thread_within_the_tools_time() -> None:
    """T14, T36: they are nobody else's wait either."""
    threads: list[threading.Thread] = []
    tool = checked_by(lambda _: threads.append(threading.current_thread()))["look"]
    asked = Prepared(ToolCall("c-1", "look", "{}"), tool, {})
    changed = asyncio.run(change(asked, {"x": "a" * 30_000}))
    assert isinstance(changed, Prepared)
    assert (changed.arguments["x"][:1], threads != [threading.current_thread()]) == ("a", True)
    never = threading.Event()
    endless = checked_by(lambda _: never.wait(30) and None, timeout_secs=0.05)["look"]
    given_up = asyncio.run(change(Prepared(asked.call, endless, {}), {"x": "a" * 30_000}))
    never.set()
    assert isinstance(given_up, ToolResult)
    assert "could not be checked within 0.05 seconds" in given_up.text


def test_long_arguments_of_an_unknown_tool_are_an_error_result() -> None:
    result = asyncio.run(prepare_apart(long_call(), {}))
    assert isinstance(result, ToolResult)
    assert result.error_code == "unknown_tool"
