"""Calling a flow as a hook: its value itself instead of a text for a model (A6, T36)."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from agentflow.message import ToolCall
from agentflow.tools.calls import Prepared, execute
from agentflow.tools.flows.context import FlowContext
from agentflow.tools.flows.library import Flow
from agentflow.tools.tool import Tool

GIVEN: Mapping[str, tuple[str, ...]] = {
    "step_start": ("message", "resumed"),
    "step_end": ("answer", "continuations"),
    "pre_model": ("messages",),
    "post_model": ("text", "finish_reason"),
    "pre_tool": ("call", "arguments"),
    "post_tool": ("call", "ok", "result"),
}
"""What a hook of each point is told: `ctx.hook` has it, and so have parameters of these names."""

_ANY_NUMBER = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


@dataclass(frozen=True, slots=True)
class Hook:
    """A flow at a point of the turn; `ignore_errors`: a failure of it is recorded and passed over (T37)."""

    flow: Flow
    timeout_secs: float
    ignore_errors: bool


class HookFailed(Exception):
    """The hook raised, ran out of time or returned what cannot be understood; the message says which."""


def hook_complaint(flow: Flow, point: str) -> str | None:
    """Why the flow cannot be called as a hook of this point, null when it can.

    Raises `InvalidConfig` for annotations that cannot be read.
    """
    given = {*GIVEN[point], _context_name(flow, point)}
    for parameter in inspect.signature(flow.function).parameters.values():
        by_name = parameter.kind is not inspect.Parameter.POSITIONAL_ONLY
        optional = parameter.default is not parameter.empty or parameter.kind in _ANY_NUMBER
        if not optional and not (by_name and parameter.name in given):
            there_are = ", ".join(GIVEN[point])
            return (
                f"{flow.where}: flow '{flow.name}' cannot be a {point} hook: nothing is given for its parameter "
                f"'{parameter.name}'; there are {there_are}, and a FlowContext"
            )
    return None


async def call_hook(hook: Hook, point: str, context: FlowContext, told: Mapping[str, Any]) -> Any:
    """What the hook returns.

    It is given the context, as its `FlowContext` parameter or else as the first one without a type, and of `told`
    what its other parameters are named after. Raises `HookFailed`; like a tool's flow it cannot harm the turn
    otherwise.
    """
    returned: list[Any] = []
    over = threading.Event()
    context = replace(context, cancelled=over.is_set)
    flow = replace(hook.flow, function=_keeping(hook.flow, returned))
    tool = Tool(hook.flow.name, "", {}, flow, hook.timeout_secs)
    values = _arguments(hook.flow, point, context, told)
    try:
        result = await execute(Prepared(ToolCall(context.call_id, hook.flow.name, "{}"), tool, {}, values), context)
    finally:
        over.set()
    if not result.ok:
        raise HookFailed(result.text)
    return returned[0] if returned else None


def _keeping(flow: Flow, returned: list[Any]) -> Callable[..., Any]:
    if flow.is_async:

        async def keep_awaited(**values: Any) -> None:
            value = flow.function(**values)
            returned.append(await value if isinstance(value, Awaitable) else value)

        return keep_awaited

    def keep(**values: Any) -> None:
        returned.append(flow.function(**values))

    return keep


def _arguments(flow: Flow, point: str, context: FlowContext, told: Mapping[str, Any]) -> dict[str, Any]:
    values = {name: told[name] for name in inspect.signature(flow.function).parameters if name in told}
    name = _context_name(flow, point)
    return values if name is None else {name: context, **values}


def _context_name(flow: Flow, point: str) -> str | None:
    parameters = inspect.signature(flow.function).parameters.values()
    untyped = (
        each.name
        for each in parameters
        if each.annotation is each.empty and each.kind not in _ANY_NUMBER and each.name not in GIVEN[point]
    )
    return flow.context or next(untyped, None)
