"""One run of an agent inside a turn, the main one or a sub-agent's, from its first hook to its last decision (T5-T9).

Whoever decides, worker or engine, is asked through one `Course`, and one `Loop` does what is decided.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from agentflow.conversation.history import Exchange
from agentflow.message import Message, ToolCall, text_of
from agentflow.tools.flows import reserved
from agentflow.tools.results import ToolResult
from agentflow.turn.calls.limit_question import refused_limit
from agentflow.turn.decide.actions import CallModel, Done
from agentflow.turn.decide.decision import Decider, Decision, Engine
from agentflow.turn.decide.triggers import MessagesDelivered, QuestionAnswered, ToolFinished, Trigger, TurnFinished
from agentflow.turn.loop import step_hooks
from agentflow.turn.loop.course import Course
from agentflow.turn.loop.loop import Loop
from agentflow.turn.loop.sub_agents import Child, delegate, task
from agentflow.turn.loop.tool_runs import Builtin, read_material, write_todos
from agentflow.turn.rules.decisions import Ended, Pause
from agentflow.turn.run.execution import Execution
from agentflow.turn.run.step import Step
from agentflow.turn.worker.asking import AskedWorker
from agentflow.turn.worker.in_force import InForce


class AgentRun:
    """Runs one execution; `inputs` are those of its agent."""

    def __init__(self, step: Step, execution: Execution, inputs: Mapping[str, Any]) -> None:
        worker = execution.agent.worker
        self._step = step
        self._execution = execution
        self._in_force = None if worker is None else InForce(step, execution, inputs)
        self._worker = None
        if worker is not None and self._in_force is not None:
            self._worker = AskedWorker(step, execution, worker, self._in_force)
        decider: Decider = self._worker or Engine()
        given_ids = {} if self._worker is None else self._worker.given_ids
        self._course = Course(step, execution, decider, self._in_force)
        self._loop = Loop(step, execution, self._course, inputs, BUILTINS, given_ids)

    async def prepare(self) -> None:
        """Know what is in force on the path; a session's worker is asked once whether it begins with something else."""
        if self._in_force is None or self._worker is None:
            return
        await self._in_force.load()
        if self._execution.parent is None:
            await self._worker.start()

    async def begin(self) -> Ended:
        """What the input of this step leads to (C32)."""
        await self.prepare()
        claimed, is_main = self._step.claimed, self._execution.parent is None
        answered = is_main and claimed.answer is not None
        usual = Done() if answered else CallModel(limit=refused_limit(claimed) if claimed.resumed else None)
        decision = await self._course.decide(await self._input(), Decision(then=usual))
        return await self._loop.run(decision)

    async def handed_back(self, held: Exchange, call: ToolCall, result: ToolResult) -> Ended:
        """Go on with the result of a `delegate` call that waited for an answer."""
        return await self._loop.handed_back(held, call, result)

    async def finish(self, ended: Ended) -> Ended:
        """The end that the run comes to: its hooks may make it go on, and so may its worker (T9, C32)."""
        step, execution = self._step, self._execution
        while isinstance(ended, Done) and (text := await step_hooks.end(step, execution, ended)):
            step_hooks.go_on(step, execution, text)
            ended = await self._loop.run(Decision(then=CallModel()))
        while isinstance(ended, Done):
            decision = await self._course.decide(TurnFinished(ended.data, execution.usage), Decision(then=ended))
            over = not decision.calls and not isinstance(decision.then, CallModel)
            further = await self._loop.run(decision)
            ended = _together(ended, further)
            if over:
                break
        if isinstance(ended, Done):
            execution.ended_with(ended.data)
        return ended

    async def _input(self) -> Trigger:
        """What this step brought: the turn's messages, or what the turn was paused for."""
        step, claimed = self._step, self._step.claimed
        if self._execution.parent is None and not claimed.resumed:
            return MessagesDelivered(claimed.delivered or None, claimed.new_from, claimed.client)
        if not claimed.resumed or self._execution.number != claimed.asking:
            return MessagesDelivered(None, 0, claimed.client)
        last = [message for message in claimed.messages if message.role == "tool"][-1]
        call_id, text = last.tool_call_id or "", text_of(last.content)
        if last.name == reserved.ASK_USER:
            return QuestionAnswered(call_id, text)
        found = await step.store.settlement(claimed.key, self._execution.number, call_id) if self._worker else None
        return ToolFinished(ToolCall(call_id, last.name or "", ""), found is None or found[0], text)


def _together(ended: Done, further: Ended) -> Ended:
    """The later end; what it does not say of data and limit stays."""
    if not isinstance(further, Done):
        return further
    data = ended.data if further.data is None else further.data
    return Done(data, further.limit or ended.limit)


async def run_child(step: Step, child: Child, message: Message) -> Ended:
    """A sub-agent's run, which brings its own hooks, worker, planner and limits (T35)."""
    execution = child.execution
    run = AgentRun(step, execution, child.inputs)
    text = await step_hooks.start_child(step, execution, message)
    execution.record(message if text is None else replace(message, content=text))
    execution.render_prompt(child.inputs)
    return await run.finish(await run.begin())


async def _task(step: Step, execution: Execution, prepared: Any) -> ToolResult | Pause:
    return await task(step, execution, prepared.call, prepared.arguments, run_child)


async def _delegate(step: Step, execution: Execution, prepared: Any) -> ToolResult | Pause:
    return await delegate(step, execution, prepared.call, prepared.arguments, run_child)


BUILTINS: Mapping[str, Builtin] = {
    reserved.WRITE_TODOS: write_todos,
    reserved.READ_SKILL: read_material,
    reserved.READ_REFERENCE: read_material,
    reserved.TASK: _task,
    reserved.DELEGATE: _delegate,
}
