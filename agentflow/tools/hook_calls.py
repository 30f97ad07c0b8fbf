"""Calling a flow as a hook: its value itself instead of a text for a model (A6, T36)."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from agentflow.message import ToolCall
from agentflow.tools.calls import Prepared, execute
from agentflow.tools.context import FlowContext
from agentflow.tools.flows import Flow
from agentflow.tools.tool import Tool


@dataclass(frozen=True, slots=True)
class Hook:
    """A flow at a point of the turn; `ignore_errors`: a failure of it is recorded and passed over (T37)."""

    flow: Flow
    timeout_secs: float
    ignore_errors: bool


class HookFailed(Exception):
    """The hook raised, ran out of time or returned what cannot be understood; the message says which."""


async def call_hook(hook: Hook, context: FlowContext, payload: Mapping[str, Any]) -> Any:
    """What the hook returns.

    It is given the context, as its `FlowContext` parameter or else as its first one, and of `payload` what its
    other parameters are named after. Raises `HookFailed`; like a tool's flow it cannot harm the turn otherwise.
    """
    returned: list[Any] = []
    flow = replace(hook.flow, function=_keeping(hook.flow, returned))
    tool = Tool(hook.flow.name, "", {}, flow, hook.timeout_secs)
    values = _arguments(hook.flow, context, payload)
    result = await execute(Prepared(ToolCall(context.call_id, hook.flow.name, "{}"), tool, {}, values), context)
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


def _arguments(flow: Flow, context: FlowContext, payload: Mapping[str, Any]) -> dict[str, Any]:
    parameters = list(inspect.signature(flow.function).parameters)
    values = {name: payload[name] for name in parameters if name in payload}
    target = flow.context or next((name for name in parameters if name not in payload), None)
    return values if target is None else {target: context, **values}
