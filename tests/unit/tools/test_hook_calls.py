"""A flow as a hook: what it is given, and what becomes of what it returns (A6, T36)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from agentflow.tools.flows.context import FlowContext
from agentflow.tools.flows.library import make_flow
from agentflow.tools.hook_calls import Hook, HookFailed, call_hook, hook_complaint

TOLD = {"message": "hi", "resumed": False}


def called(function: Callable[..., Any], point: str = "step_start", told: Any = None) -> Any:
    hook = Hook(make_flow(function), 5, ignore_errors=False)
    return asyncio.run(call_hook(hook, point, FlowContext(session_id="s-1", hook=told or TOLD), told or TOLD, {}))


def test_the_value_itself_comes_back_not_a_text_of_it() -> None:
    value = {"context": "x", "vars": {"n": 1}}
    assert called(lambda_returning(value)) is value


def lambda_returning(value: Any) -> Callable[..., Any]:
    def hook() -> Any:
        return value

    return hook


def test_parameters_are_given_what_they_are_named_after() -> None:
    def hook(resumed: bool, message: str, limit: int = 3) -> Any:
        return resumed, message, limit

    assert called(hook) == (False, "hi", 3)


def test_the_context_goes_to_the_parameter_of_its_type_else_to_the_first_without_one() -> None:
    def typed(message: str, whatever: FlowContext) -> Any:
        return message, whatever.session_id, dict(whatever.hook)

    def untyped(ctx, message):  # type: ignore[no-untyped-def]
        return message, ctx.session_id, dict(ctx.hook)

    assert called(typed) == called(untyped) == ("hi", "s-1", TOLD)


def test_an_async_hook_is_awaited() -> None:
    async def hook(message: str) -> Any:
        await asyncio.sleep(0)
        return message.upper()

    assert called(hook) == "HI"


@pytest.mark.parametrize("error", [ValueError, SystemExit, KeyboardInterrupt, asyncio.CancelledError])
def test_whatever_a_hook_raises_is_one_failure(error: type[BaseException]) -> None:
    def hook() -> None:
        raise error("no")

    with pytest.raises(HookFailed, match=error.__name__ if error is not asyncio.CancelledError else "Cancel"):
        called(hook)


def test_a_parameter_that_nothing_is_given_for_is_complained_of_with_what_there_is() -> None:
    def hook(sql: str) -> None: ...

    complaint = hook_complaint(make_flow(hook), "pre_tool") or ""
    assert "parameter 'sql'" in complaint
    assert "call, arguments, a FlowContext, and what the entry gives under with" in complaint


@pytest.mark.parametrize("point", ["step_start", "step_end", "pre_model", "post_model", "pre_tool", "post_tool"])
def test_a_hook_with_only_a_context_fits_every_point(point: str) -> None:
    def hook(ctx: FlowContext) -> None: ...

    assert hook_complaint(make_flow(hook), point) is None
