"""Hooks: the author's flows at the points of a turn, each called in the order listed and recorded (T36, T37).

What each point may return, beside null for nothing:

    step_start   {context?, message?, vars?, block?}   text for this step, another user message, variables, a refusal
    step_end     {continue?, answer?}                  a message that makes the step go on, or another answer
    pre_model    {messages?}                           the request's messages, checked like our own
    post_model   {text?}                               another text of the reply
    pre_tool     {deny?, arguments?}                   a reason not to run the call, or other arguments
    post_tool    {result?}                             another result text

The hook reads what it is about in `ctx.hook`, or in parameters of the same names.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

from agentflow import clock, events
from agentflow.errors import AgentflowError
from agentflow.store import rows
from agentflow.text import preview, sanitise_json
from agentflow.tools.context import FlowContext
from agentflow.tools.hook_calls import Hook, HookFailed, call_hook
from agentflow.turn.execution import Execution
from agentflow.turn.model_call import milliseconds_since
from agentflow.turn.surroundings import Surroundings

_ALLOWED: dict[str, dict[str, type]] = {
    "step_start": {"context": str, "message": str, "vars": dict, "block": str},
    "step_end": {"continue": str, "answer": str},
    "pre_model": {"messages": list},
    "post_model": {"text": str},
    "pre_tool": {"deny": str, "arguments": dict},
    "post_tool": {"result": str},
}


class HookError(AgentflowError):
    """A hook failed the turn."""

    code = "hook_failed"


class Blocked(AgentflowError):
    """A `step_start` hook refused the request; the sentence is the hook's."""

    code = "blocked"


class Hooks:
    """The hooks of one execution."""

    def __init__(self, turn: Surroundings, execution: Execution) -> None:
        self._turn = turn
        self._execution = execution
        self._hooks = execution.agent.hooks

    def has(self, point: str) -> bool:
        return point in self._hooks

    async def call(self, point: str, payload: Mapping[str, Any]) -> dict[str, Any]:
        """What the hooks of this point returned together; of one key the last hook's value counts, texts of `context`
        add up and `vars` merge. A hook sees what the ones before it changed.

        Raises `HookError` for a hook that fails, unless it is to be ignored.
        """
        said: dict[str, Any] = {}
        for hook in self._hooks.get(point, ()):
            answer = await self._one(point, hook, {**payload, **said})
            if "context" in answer and "context" in said:
                answer["context"] = f"{said['context']}\n\n{answer['context']}"
            if "vars" in answer:
                answer["vars"] = {**said.get("vars", {}), **answer["vars"]}
            said |= answer
            if "block" in said or "deny" in said:
                break
        return said

    async def _one(self, point: str, hook: Hook, payload: Mapping[str, Any]) -> dict[str, Any]:
        started, error = asyncio.get_running_loop().time(), None
        answer: dict[str, Any] = {}
        try:
            with self._turn.interrupt.window():
                answer = _understood(point, await call_hook(hook, self._context(payload), payload))
        except HookFailed as failed:
            error = str(failed)
        outcome = "failed" if error is not None else "changed" if answer else "ok"
        self._record(point, hook, milliseconds_since(started), outcome, error)
        if error is not None and not hook.ignore_errors:
            raise HookError(
                f"The {point} hook {hook.flow.name!r} ({hook.flow.where}) failed: {error}",
                detail={"hook": hook.flow.name, "point": point},
            )
        return answer

    def _record(self, point: str, hook: Hook, milliseconds: int, outcome: str, error: str | None) -> None:
        execution = self._execution
        execution.stage(
            rows.InsertHookRun(
                execution.journal.step, execution.journal.next_hook(), execution.journal.turn, execution.number, point,
                hook.flow.name, clock.instant(), milliseconds, outcome, None if error is None else preview(error, 500),
            )
        )  # fmt: skip
        execution.tell(
            events.plain(
                events.HOOK_COMPLETED,
                {"point": point, "flow": hook.flow.name, "outcome": outcome, "duration_ms": milliseconds},
            )
        )

    def _context(self, payload: Mapping[str, Any]) -> FlowContext:
        claimed, journal, agent = self._turn.claimed, self._execution.journal, self._execution.agent
        return FlowContext(
            session_id=journal.session_id,
            turn_id=journal.turn_id,
            agent_id=agent.config.name,
            inputs=claimed.inputs,
            vars=self._execution.vars,
            client=claimed.client,
            logger=logging.getLogger(f"agentflow.agent.{agent.config.name}"),
            hook=payload,
        )


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
    understood: dict[str, Any] = sanitise_json({key: item for key, item in value.items() if item is not None})
    return understood
