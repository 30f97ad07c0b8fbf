"""Hooks: the author's flows at the points of a turn, each called in the order listed and recorded (T36, T37).

What each point may return, beside null for nothing:

    step_start   {context?, message?, vars?, block?}   text for this step, another user message, variables, a refusal
    step_end     {continue?, answer?}                  a message that makes the step go on, or another answer
    pre_model    {messages?}                           the request's messages, checked like our own
    post_model   {text?}                               another text of the reply
    pre_tool     {deny?, arguments?}                   a reason not to run the call, or other arguments
    post_tool    {result?}                             another result text

What a hook is told stands in `tools.hook_calls.GIVEN`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import replace
from functools import partial
from typing import Any

from agentflow import clock, events
from agentflow.bounds.beside import beside
from agentflow.bounds.weight import MAX_LEVELS, TooMuch, is_deep, weigh
from agentflow.clock import Instant
from agentflow.config.keys.templates import TemplateFault, variables
from agentflow.conversation.history import checked_wire
from agentflow.errors import AgentflowError, HookError
from agentflow.live.interrupt import Interrupted
from agentflow.store.rows import inserts
from agentflow.telemetry import shapes, spans
from agentflow.telemetry.spans import Around
from agentflow.text import preview, sanitise_json
from agentflow.tools.flows.context import FlowContext
from agentflow.tools.hook_calls import Hook, HookFailed, call_hook
from agentflow.tools.plain_values import dumped
from agentflow.tools.results import success
from agentflow.turn.calls.flow_context import flow_context
from agentflow.turn.run.execution import Execution
from agentflow.turn.run.in_flight import milliseconds_since
from agentflow.turn.run.step import Step

_ALLOWED: dict[str, dict[str, type]] = {
    "step_start": {"context": str, "message": str, "vars": dict, "block": str},
    "step_end": {"continue": str, "answer": str},
    "pre_model": {"messages": list},
    "post_model": {"text": str},
    "pre_tool": {"deny": str, "arguments": dict},
    "post_tool": {"result": str},
}
_TOO_DEEP = f"what it returned is nested more than {MAX_LEVELS} levels deep, or in itself"
_NEVER_BLANK = ("message", "answer")  # a message without text is none (T7)
_NOTHING_IF_BLANK = ("context", "continue")


class Hooks:
    """The hooks of one execution."""

    def __init__(self, step: Step, execution: Execution) -> None:
        self._step = step
        self._execution = execution
        self._hooks = execution.agent.hooks

    def has(self, point: str) -> bool:
        return point in self._hooks

    async def call(self, point: str, told: Mapping[str, Any]) -> dict[str, Any]:
        """What the hooks of this point returned together; of one key the last hook's value counts, texts of `context`
        add up and `vars` merge. A hook is told what the ones before it changed.

        Raises `HookError` for a hook that fails, unless it is to be ignored.
        """
        said: dict[str, Any] = {}
        for hook in self._hooks.get(point, ()):
            changed = {name: said.get(name, value) for name, value in told.items()}
            session_id = self._execution.journal.session_id
            with spans.span(partial(shapes.hook, point, hook.flow.name, session_id)) as span:
                answer = await self._one(point, hook, changed, said.get("vars", {}), span)
            if "context" in answer and "context" in said:
                answer["context"] = f"{said['context']}\n\n{answer['context']}"
            if "vars" in answer:
                answer["vars"] = {**said.get("vars", {}), **answer["vars"]}
            said |= answer
            if "block" in said or "deny" in said:
                break
        return said

    async def _one(
        self, point: str, hook: Hook, told: Mapping[str, Any], variables: Mapping[str, Any], span: Around
    ) -> dict[str, Any]:
        """What one hook said. It gets a copy of what it is told: the turn's own data is not its to change."""
        at, started, error = clock.instant(), asyncio.get_running_loop().time(), None
        answer: dict[str, Any] = {}
        told = deepcopy(dict(told))
        call_id = told["call"]["id"] if "call" in told else None
        context = flow_context(self._step, self._execution, "", told)
        context = replace(context, vars={**context.vars, **variables})
        self._tell_start(point, hook, call_id)
        try:
            with self._step.interrupt.window():
                arguments = self._arguments(hook, context)
                said = await call_hook(hook, point, context, told, arguments)
                answer = await beside(partial(_understood, point), said)
        except HookFailed as failed:
            error = str(failed)
            span.fail("hook_failed", error)
        except Interrupted:
            why = "the turn was interrupted"
            self._record(point, hook, at, milliseconds_since(started), "failed", why, call_id)
            raise
        outcome = "failed" if error is not None else "changed" if answer else "ok"
        self._record(point, hook, at, milliseconds_since(started), outcome, error, call_id)
        if error is not None and not hook.ignore_errors:
            raise HookError(
                f"The {point} hook {hook.flow.name!r} ({hook.flow.where}) failed: {error}",
                detail={"hook": hook.flow.name, "point": point},
            )
        return answer

    def _arguments(self, hook: Hook, context: FlowContext) -> dict[str, Any]:
        if hook.arguments is None:
            return {}
        inputs = context.inputs
        if self._execution.parent is not None:  # a sub-agent's templates know the inputs that it declares
            declared = self._execution.agent.config.inputs
            inputs = {name: context.inputs.get(name, spec.default) for name, spec in declared.items()}
        known = variables(inputs, context.vars, {"id": context.session_id}, clock.now().date())
        try:
            return hook.arguments.rendered(known)
        except TemplateFault as fault:
            raise HookFailed(f"a template in its `with` cannot be rendered: {fault}") from fault

    def _tell_start(self, point: str, hook: Hook, call_id: str | None) -> None:
        """Whoever watches sees what they wait for; the log has hooks that have run."""
        journal = self._execution.journal
        told = {"point": point, "flow": hook.flow.name} | ({} if call_id is None else {"tool_call_id": call_id})
        journal.feed.tell(
            events.Event(
                journal.session_id, None, journal.turn_id, clock.instant(), events.HOOK_STARTED,
                told | self._execution.delta_says,
            )
        )  # fmt: skip

    def _record(
        self, point: str, hook: Hook, at: Instant, milliseconds: int, outcome: str, error: str | None,
        call_id: str | None,
    ) -> None:  # fmt: skip
        execution, journal = self._execution, self._execution.journal
        step, number, flow = journal.step, journal.next_hook(), hook.flow.name
        error = None if error is None else preview(error, 500)
        execution.staging.add(
            inserts.InsertHookRun(
                step, number, journal.turn, execution.number, point, flow, at, milliseconds, outcome, error
            )
        )
        execution.staging.tell(
            events.hook_completed(
                step, number, point=point, flow=flow, outcome=outcome, milliseconds=milliseconds, error=error,
                tool_call_id=call_id,
            )
        )  # fmt: skip


def _understood(point: str, value: Any) -> dict[str, Any]:
    if value is None:
        return {}
    allowed = _ALLOWED[point]
    if not isinstance(value, Mapping):
        raise HookFailed(
            f"it returned {preview(repr(value), 80)}; null or a mapping with {', '.join(allowed)} is expected"
        )
    for key, item in value.items():
        if key not in allowed:
            raise HookFailed(f"it returned the key {key!r}; {point} knows {', '.join(allowed)}")
        if item is not None and not isinstance(item, allowed[key]):
            raise HookFailed(
                f"it returned {preview(repr(item), 80)} for {key!r}; a {allowed[key].__name__} is expected"
            )
        if key in _NEVER_BLANK and isinstance(item, str) and not item.strip():
            raise HookFailed(f"it returned a blank text for {key!r}")
    understood = _plain(value)
    if "messages" in understood:
        understood["messages"] = _checked(understood["messages"])
    return understood


def _plain(value: Mapping[str, Any]) -> dict[str, Any]:
    """What it returned without what says nothing, as JSON that can be stored and sent; `vars` stay what they are."""
    given = {key: item for key, item in value.items() if item is not None}
    given = {key: item for key, item in given.items() if key not in _NOTHING_IF_BLANK or item.strip()}
    try:
        weigh(given)
        dumped({key: item for key, item in given.items() if key != "vars"})
        plain: dict[str, Any] = sanitise_json(given)
    except TooMuch as much:
        raise HookFailed(f"what it returned {much}") from None
    except RecursionError:
        raise HookFailed(_TOO_DEEP) from None
    except (TypeError, ValueError) as error:
        raise HookFailed(f"it returned what is no JSON: {error}") from error
    if is_deep({key: item for key, item in plain.items() if key != "vars"}):
        raise HookFailed(_TOO_DEEP)
    return {key: success(item).text if isinstance(item, str) else item for key, item in plain.items()}


def _checked(messages: list[Any]) -> list[dict[str, Any]]:
    try:
        return checked_wire(messages)
    except (AgentflowError, LookupError, TypeError, AttributeError) as error:
        raise HookFailed(f"it returned messages that cannot be sent: {error}") from error
