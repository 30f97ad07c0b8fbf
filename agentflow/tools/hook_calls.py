"""Calling a flow as a hook: its value itself instead of a text for a model (A6, T36)."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from agentflow.message import ToolCall
from agentflow.tools.calls import Prepared, execute, on_a_thread
from agentflow.tools.flows.context import FlowContext
from agentflow.tools.flows.library import Flow
from agentflow.tools.hook_arguments import HookArguments, parameter_of
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
    """A flow at a point of the turn; `ignore_errors`: a failure of it is recorded and passed over (T37).

    `arguments` are what the file gives it beside what the point tells (R8).
    """

    flow: Flow
    timeout_secs: float
    ignore_errors: bool
    arguments: HookArguments | None = None


class HookFailed(Exception):
    """The hook raised, ran out of time or returned what cannot be understood; the message says which."""


def hook_complaint(flow: Flow, point: str, arguments: Collection[str] = ()) -> str | None:
    """Why the flow cannot be called as a hook of this point, null when it can; `arguments` are keys of its `with:`.

    Raises `InvalidConfig` for annotations that cannot be read.
    """
    if flow.hook_points and point not in flow.hook_points:
        return f"{flow.where}: flow '{flow.name}' is a hook at {', '.join(flow.hook_points)} alone"
    given = {*GIVEN[point], context_name(flow, point, arguments), *map(parameter_of, arguments)}
    for parameter in inspect.signature(flow.function).parameters.values():
        by_name = parameter.kind is not inspect.Parameter.POSITIONAL_ONLY
        optional = parameter.default is not parameter.empty or parameter.kind in _ANY_NUMBER
        if not optional and not (by_name and parameter.name in given):
            there_are = ", ".join(GIVEN[point])
            return (
                f"{flow.where}: flow '{flow.name}' cannot be a {point} hook: nothing is given for its parameter "
                f"'{parameter.name}'; there are {there_are}, a FlowContext, and what the entry gives under with"
            )
    return None


async def call_hook(
    hook: Hook, point: str, context: FlowContext, told: Mapping[str, Any], arguments: Mapping[str, Any]
) -> Any:
    """What the hook returns.

    It is given the context, as its `FlowContext` parameter or else as the first one without a type, of `told` what its
    other parameters are named after, and its rendered `arguments`. Raises `HookFailed`; like a tool's flow it cannot
    harm the turn otherwise.
    """
    returned: list[Any] = []
    over = threading.Event()
    context = replace(context, cancelled=over.is_set)
    flow = replace(hook.flow, function=_keeping(hook, arguments, returned))
    tool = Tool(hook.flow.name, "", {}, flow, hook.timeout_secs)
    values = _told(hook, point, context, told)
    try:
        result = await execute(Prepared(ToolCall(context.call_id, hook.flow.name, "{}"), tool, {}, values), context)
    finally:
        over.set()
    if not result.ok:
        raise HookFailed(result.text)
    return returned[0] if returned else None


def _keeping(hook: Hook, arguments: Mapping[str, Any], returned: list[Any]) -> Callable[..., Any]:
    """The flow, which keeps what it returned; its arguments become its own types where the author's code may run."""
    flow = hook.flow

    def converted() -> dict[str, Any]:
        try:
            return {} if hook.arguments is None else hook.arguments.signature.convert(arguments)
        except ValueError as error:
            raise ValueError(f"what `with` gives does not fit: {error}") from None

    if flow.is_async:

        async def keep_awaited(**values: Any) -> None:
            given = await on_a_thread(asyncio.get_running_loop(), converted) if arguments else {}
            value = flow.function(**values, **given)
            returned.append(await value if isinstance(value, Awaitable) else value)

        return keep_awaited

    def keep(**values: Any) -> None:
        returned.append(flow.function(**values, **converted()))

    return keep


def _told(hook: Hook, point: str, context: FlowContext, told: Mapping[str, Any]) -> dict[str, Any]:
    """The context, and what the point tells; what the file gives goes before it."""
    own = {} if hook.arguments is None else hook.arguments.written
    parameters = inspect.signature(hook.flow.function).parameters
    values = {name: told[name] for name in parameters if name in told and name not in own}
    name = context_name(hook.flow, point, own)
    return values if name is None else {name: context, **values}


def context_name(flow: Flow, point: str, arguments: Collection[str]) -> str | None:
    """The parameter that takes the context; `arguments` are keys of the hook's `with:`, which are no context."""
    given = {*GIVEN[point], *map(parameter_of, arguments)}
    parameters = inspect.signature(flow.function).parameters.values()
    untyped = (
        each.name
        for each in parameters
        if each.annotation is each.empty and each.kind not in _ANY_NUMBER and each.name not in given
    )
    return flow.context or next(untyped, None)
