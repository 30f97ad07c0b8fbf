"""One tool call, performed between its hooks: a flow, a built-in, or a call that is left to the worker (T36, C32)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any

from agentflow.message import ToolCall
from agentflow.telemetry import shapes, spans
from agentflow.telemetry.spans import Around
from agentflow.tools.arguments import parse_arguments
from agentflow.tools.calls import Prepared, change, execute, finalize, prepare, with_attached
from agentflow.tools.flows.reserved import BUILTIN_NAMES
from agentflow.tools.materials import read
from agentflow.tools.results import ToolResult, refused
from agentflow.tools.tool import CLIENT, WORKER
from agentflow.turn.calls import left_open
from agentflow.turn.calls.flow_context import flow_context
from agentflow.turn.calls.hooks import Hooks
from agentflow.turn.calls.tool_batch import Outcome
from agentflow.turn.decide.decision import NOTHING
from agentflow.turn.decide.triggers import ToolExecute
from agentflow.turn.loop.course import Course
from agentflow.turn.rules.decisions import Pause
from agentflow.turn.run.execution import Execution
from agentflow.turn.run.step import Step

Builtin = Callable[[Step, Execution, Prepared], Awaitable[ToolResult | Pause]]


class ToolRuns:
    """Performs the calls of one execution. `given` are results that a decision has for calls that are left open."""

    def __init__(
        self, step: Step, execution: Execution, course: Course, hooks: Hooks, builtins: Mapping[str, Builtin]
    ) -> None:
        self.given: dict[str, ToolResult] = {}
        self._step = step
        self._execution = execution
        self._course = course
        self._hooks = hooks
        self._builtins = builtins

    async def perform(self, prepared: Prepared) -> Outcome:
        """Perform a call between its hooks."""
        call, session_id = prepared.call, self._execution.journal.session_id
        with spans.span(lambda: shapes.tool(call.name, call.id, session_id)) as span:
            span.say(lambda: shapes.arguments(prepared.arguments), contents=True)
            outcome = await self._between_hooks(prepared)
            if isinstance(outcome, ToolResult):
                _tell(span, outcome)
            return outcome

    async def _between_hooks(self, prepared: Prepared) -> Outcome:
        if self._hooks.has("pre_tool"):
            call = _payload(prepared)
            said = await self._hooks.call("pre_tool", {"call": call, "arguments": prepared.arguments})
            if "deny" in said:
                return refused(said["deny"], "denied")
            if "arguments" in said:
                changed = await change(prepared, said["arguments"])
                if isinstance(changed, ToolResult):
                    return changed
                prepared = changed
        if (stood_in := self._stood_in(prepared)) is not None:
            return stood_in
        outcome = await self._done(prepared)
        return await self._after(prepared, outcome) if isinstance(outcome, ToolResult) else outcome

    def _stood_in(self, prepared: Prepared) -> ToolResult | None:
        """What an evaluation has in place of whoever performs the call, but for what every agent can do and what its
        client does: the result as the model read it, which the hooks after the tool have changed already (R9).
        """
        stand_in, tool = self._step.source.stand_in, prepared.tool
        if stand_in is None or tool.handler == CLIENT or tool.name in BUILTIN_NAMES:
            return None
        return stand_in.result(tool.name, parse_arguments(prepared.call.arguments)[0])

    async def handed_back(self, call: ToolCall, result: ToolResult) -> tuple[Prepared | None, ToolResult]:
        """The result of a `delegate` call that waited for an answer, as its hooks leave it."""
        prepared = prepare(call, self._execution.agent.tools)
        if not isinstance(prepared, Prepared):
            return None, result
        return prepared, finalize(await self._after(prepared, result), prepared.tool)

    def give(self, call_id: str, result: ToolResult) -> None:
        """A result for a call that waits."""
        self.given[call_id] = result
        self._step.settled.set()

    async def _after(self, prepared: Prepared, result: ToolResult) -> ToolResult:
        if self._hooks.has("post_tool"):
            about = {"call": _payload(prepared), "ok": result.ok, "result": result.text}
            said = await self._hooks.call("post_tool", about)
            result = replace(result, text=said["result"]) if "result" in said else result
        return result

    async def _done(self, prepared: Prepared) -> Outcome:
        """A flow is executed; a built-in is done by the part of the turn that knows how."""
        if prepared.tool.handler == WORKER:
            return await self._left_open(prepared)
        if prepared.tool.handler == CLIENT:
            return left_open.left_to_client(self._execution, prepared)
        if prepared.tool.flow is not None:
            answered = self._step.source.answered(prepared.call.name, prepared.arguments)
            if answered is not None:
                return answered
            context = flow_context(self._step, self._execution, prepared.call.id, {})
            return await with_attached(await execute(prepared, context), context.attached)
        return await self._builtins[prepared.tool.name](self._step, self._execution, prepared)

    async def _left_open(self, prepared: Prepared) -> Outcome:
        """`tool.execute`: the worker answers at once, says what is done instead, or leaves the call open."""
        call = prepared.call
        async with self._course.one_at_a_time:
            decision = await self._course.decide(ToolExecute(call, prepared.arguments), NOTHING)
            if decision.leaves or decision.calls or decision.then is not None:
                return decision
            for given in decision.given:
                self.give(given.id, given.outcome)
        return await left_open.settled(self._step, self._execution, prepared, self.given)


async def read_material(step: Step, execution: Execution, prepared: Prepared) -> ToolResult:
    return read(execution.agent.material, prepared.tool.name, prepared.arguments)


async def write_todos(step: Step, execution: Execution, prepared: Prepared) -> ToolResult:
    is_main = execution.number == step.claimed.execution
    return execution.todos.write(prepared.arguments, streamed=is_main)


def _tell(span: Around, result: ToolResult) -> None:
    span.say(lambda: shapes.result(result.text), contents=True)
    if not result.ok:
        span.fail(result.error_code or "tool_error", result.text)


def _payload(prepared: Prepared) -> dict[str, Any]:
    return {"id": prepared.call.id, "name": prepared.call.name, "arguments": prepared.arguments}
