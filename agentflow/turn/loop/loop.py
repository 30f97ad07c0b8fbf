"""The iteration loop of one execution: model call, reply, tools, results, again (T8).

The same loop runs the main agent and every sub-agent. It stages and commits through its execution and comes back
with the decision that ended it; what that means for the turn is for whoever started the loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any

from agentflow.agents.loaded_agent import LoadedAgent
from agentflow.config.agent_config import Settings
from agentflow.conversation.history import BuiltRequest, Exchange
from agentflow.conversation.questions import check_questions
from agentflow.errors import ModelError
from agentflow.message import Message, ToolCall
from agentflow.models.assembly import Reply
from agentflow.models.protocol import ModelRequest
from agentflow.store import rows
from agentflow.tools.calls import Prepared, execute, finalize, prepare, prepare_with
from agentflow.tools.flows import reserved
from agentflow.tools.materials import read
from agentflow.tools.results import ToolResult, refused
from agentflow.tools.tool import CLIENT, WORKER
from agentflow.turn.calls import left_open
from agentflow.turn.calls.flow_context import flow_context
from agentflow.turn.calls.hooks import Hooks
from agentflow.turn.calls.model_stream import stream_reply
from agentflow.turn.calls.tool_batch import ToolBatch
from agentflow.turn.loop import sub_agents
from agentflow.turn.loop.making_room import Room
from agentflow.turn.rules.decisions import (
    AskLimit,
    CallModel,
    Fail,
    Finish,
    NextMove,
    Pause,
    RunTools,
    after_reply,
    after_results,
)
from agentflow.turn.run import model_calls, tool_calls
from agentflow.turn.run.execution import Execution
from agentflow.turn.run.in_flight import OpenStream
from agentflow.turn.run.step import Step

Ended = Pause | AskLimit | Finish | Fail
Next = CallModel | Ended


class Loop:
    """Runs one execution."""

    def __init__(self, step: Step, execution: Execution) -> None:
        self._step = step
        self._execution = execution
        self._journal = execution.journal
        self._room = Room(step, execution)
        self._hooks = Hooks(step, execution)

    @property
    def _agent(self) -> LoadedAgent:
        return self._execution.agent

    @property
    def settings(self) -> Settings:
        return self._agent.config.settings

    async def run(self, call_id: str, limit: str | None = None) -> Ended:
        """Run until a decision ends it. `call_id` is the first model call, recorded as requested already; `limit`
        makes it the last one, without tools.

        Raises `ModelError` and `Interrupted`: what is open then is known to the execution.
        """
        following: Next = CallModel(limit)
        while isinstance(following, CallModel):
            message, plan = await self._call_model(call_id, following.limit)
            if isinstance(plan, CallModel):
                following, call_id = plan, self._step.new_id()
                model_calls.request(self._execution, call_id)
                await self._execution.commit()
            elif not isinstance(plan, RunTools) or message is None:
                return plan if isinstance(plan, Fail | Finish) else Finish(following.limit)
            else:
                following, call_id = await self._run_tools(plan, message, message.tool_calls, following.limit)
        return following

    async def begin(self) -> Ended | None:
        """What the input leads to instead of its answer by the model; null: nothing else."""
        return None

    async def finish(self, ended: Ended) -> Ended:
        """The end that the turn comes to."""
        return ended

    async def _decided(
        self, call_id: str, reply: Reply, message: Message | None, plan: NextMove
    ) -> tuple[Message | None, NextMove]:
        """What is recorded of a reply, and what follows."""
        return message, plan

    async def take_up(self) -> None:
        """Get ready to go on with a turn that began in an earlier step."""

    async def handed_back(self, held: Exchange, call: ToolCall, result: ToolResult) -> Ended:
        """Go on with the result of a `delegate` call that waited for an answer; the other results are there."""
        prepared = prepare(call, self._agent.tools)
        if isinstance(prepared, Prepared):
            result = await self._delegated(prepared, result)
        recorded = tool_calls.finish(self._execution, call.id, self._step.new_id(), result, None)
        return await self.go_on(held.message, [*held.results, recorded], result.text if result.ok else None)

    async def _delegated(self, prepared: Prepared, result: ToolResult) -> ToolResult:
        return finalize(await self.after_tool(prepared, result), prepared.tool)

    async def go_on(self, reply: Message, results: Sequence[Message], answer: str | None) -> Ended:
        """Take up a reply whose last result has just been staged, in another process than the one that ran the rest.

        `answer` is that result when it ends the turn.
        """
        following, call_id = self._after_results(reply, results, None, answer, None)
        if isinstance(following, CallModel):
            await self._execution.commit()
            return await self.run(call_id)
        return following

    async def _call_model(self, call_id: str, limit: str | None) -> tuple[Message | None, NextMove]:
        """Call the model and stage its reply; what follows it. `limit`: the last call, without tools."""
        with_tools = limit is None and bool(self._agent.schemas)
        await self._room.before(call_id, with_tools=with_tools)
        try:
            reply = await self._stream(call_id, with_tools)
        except ModelError as error:
            if not self._execution.in_flight.take_back(error):
                raise
            self._execution.spent.taken_back()
            await self._room.after_refusal(call_id, with_tools=with_tools)
            reply = await self._stream(call_id, with_tools)
        if self._hooks.has("post_model"):
            said = await self._hooks.call("post_model", {"text": reply.text, "finish_reason": reply.finish_reason})
            reply = replace(reply, text=said["text"]) if "text" in said else reply
        calls = left_open.identified(self._execution, reply.tool_calls, self._step.new_id)
        plan: NextMove = after_reply(
            calls, reply.finish_reason or "", reply.text, enders=self._agent.enders, settings=self.settings,
            spent=self._execution.spent, limit=limit,
        )  # fmt: skip
        message, plan = await self._decided(call_id, reply, self._message(call_id, reply, calls), plan)
        model_calls.complete(self._execution, reply, message)
        if message is not None and not message.tool_calls:
            self._execution.transcript.remember(message)
        return message, plan

    async def _stream(self, call_id: str, with_tools: bool) -> Reply:
        built = self._request(with_tools=with_tools)
        now = asyncio.get_running_loop().time()
        stream = OpenStream(call_id, "main", built.chars, now, with_tools, self._execution.delta_says)
        messages = built.messages
        if self._hooks.has("pre_model"):
            said = await self._hooks.call("pre_model", {"messages": messages})
            messages = said.get("messages", messages)
        request = ModelRequest(
            call_id, "main", messages, self._agent.schemas if with_tools else (), built.chars,
            self._journal.session_id, self._step.claimed.turn,
        )  # fmt: skip
        model_calls.go_out(self._execution, stream)
        with self._step.interrupt.window():
            return await stream_reply(
                self._agent.model, request, stream, self._journal.feed, self._journal.turn_id,
                lambda text: self._journal.commit_aside(rows.CheckpointLlmCall(text, call_id)),
                timeout_secs=self.settings.llm_timeout_secs, retries=self.settings.llm_retries,
            )  # fmt: skip

    def _request(self, *, with_tools: bool) -> BuiltRequest:
        return self._execution.request(with_tools=with_tools)

    def _message(self, call_id: str, reply: Reply, calls: tuple[ToolCall, ...]) -> Message | None:
        """The reply as it is recorded; a reply that says nothing is no message (B37)."""
        text = reply.text if reply.text.strip() else None
        if text is None and not calls:
            return None
        provider = {"model": self._agent.model.name, **reply.provider} if reply.provider else None
        return Message(call_id, "assistant", text, calls, provider=provider)

    async def _run_tools(
        self, plan: RunTools, reply: Message, calls: tuple[ToolCall, ...], limit: str | None
    ) -> tuple[Next, str]:
        """Run the calls of a reply; what follows, and the id of the model call if one does."""
        batch = ToolBatch(self._execution, plan, self._perform, self._step.new_id)
        batch.stage(plan, calls, reply.id)
        following: list[tuple[Next, str]] = []

        def last() -> bool:
            following.append(self._after_results(reply, batch.results, self._asked(batch), batch.answer, limit))
            return isinstance(following[0][0], CallModel)

        await batch.run(self._step.interrupt, last)
        return following[0]

    def _asked(self, batch: ToolBatch) -> Pause | None:
        """The question that waits: the execution's own, or that of a sub-agent the turn was handed to (T22)."""
        if batch.asked is None:
            return batch.pause
        checked = check_questions(batch.asked.arguments)
        return Pause(batch.asked.call.id, checked if isinstance(checked, tuple) else (), self._execution.number)

    def _after_results(
        self, reply: Message, results: Sequence[Message], asked: Pause | None, answer: str | None, limit: str | None
    ) -> tuple[Next, str]:
        """Decide once every call of a reply has its result, and stage what follows (T11)."""
        execution, call_id = self._execution, self._step.new_id()
        if asked is None:
            execution.transcript.remember(reply, *results)
        if answer is not None:
            execution.record(Message(self._step.new_id(), "assistant", answer))
        decision = self._decide(asked, answer, limit)
        if isinstance(decision, CallModel):
            model_calls.request(execution, call_id)
        return decision, call_id

    def _decide(self, asked: Pause | None, answer: str | None, limit: str | None) -> Next:
        execution = self._execution
        return after_results(
            asked=asked, ended=answer is not None, settings=self.settings, spent=execution.spent,
            usage=execution.usage, limit=limit,
        )  # fmt: skip

    async def _perform(self, prepared: Prepared) -> ToolResult | Pause:
        """Perform a call between its hooks (T36)."""
        if self._hooks.has("pre_tool"):
            call = _call_payload(prepared)
            said = await self._hooks.call("pre_tool", {"call": call, "arguments": prepared.arguments})
            if "deny" in said:
                return refused(said["deny"], "denied")
            if "arguments" in said:
                changed = prepare_with(prepared.call, prepared.tool, said["arguments"])
                if isinstance(changed, ToolResult):
                    return changed
                prepared = changed
        result = await self._done(prepared)
        return await self.after_tool(prepared, result) if isinstance(result, ToolResult) else result

    async def after_tool(self, prepared: Prepared, result: ToolResult) -> ToolResult:
        """The result of a call as its hooks leave it."""
        if self._hooks.has("post_tool"):
            about = {"call": _call_payload(prepared), "ok": result.ok, "result": result.text}
            said = await self._hooks.call("post_tool", about)
            result = replace(result, text=said["result"]) if "result" in said else result
        return result

    async def _done(self, prepared: Prepared) -> ToolResult | Pause:
        """A flow is executed; a built-in is done by the part of the turn that knows how."""
        if prepared.tool.handler == WORKER:
            return await self._left_open(prepared)
        if prepared.tool.handler == CLIENT:
            return left_open.left_to_client(self._execution, prepared)
        if prepared.tool.flow is not None:
            return await execute(prepared, flow_context(self._step, self._execution, prepared.call.id, {}))
        perform = _BUILTINS[prepared.tool.name]
        return await perform(self._step, self._execution, prepared)

    async def _left_open(self, prepared: Prepared) -> ToolResult:
        """A call that is not run here waits for its result (C33)."""
        return await left_open.settled(self._step, self._execution, prepared)


def _call_payload(prepared: Prepared) -> dict[str, Any]:
    return {"id": prepared.call.id, "name": prepared.call.name, "arguments": prepared.arguments}


async def _write_todos(step: Step, execution: Execution, prepared: Prepared) -> ToolResult:
    is_main = execution.number == step.claimed.execution
    return execution.todos.write(prepared.arguments, streamed=is_main)


async def _read_material(step: Step, execution: Execution, prepared: Prepared) -> ToolResult:
    return read(execution.agent.material, prepared.tool.name, prepared.arguments)


async def _task(step: Step, execution: Execution, prepared: Prepared) -> ToolResult:
    return await sub_agents.task(step, execution, prepared.call, prepared.arguments, _run)


async def _delegate(step: Step, execution: Execution, prepared: Prepared) -> ToolResult | Pause:
    return await sub_agents.delegate(step, execution, prepared.call, prepared.arguments, _run)


async def _run(step: Step, execution: Execution, call_id: str) -> Ended:
    return await Loop(step, execution).run(call_id)


_Perform = Callable[[Step, Execution, Prepared], Awaitable[ToolResult | Pause]]
_BUILTINS: dict[str, _Perform] = {
    reserved.WRITE_TODOS: _write_todos,
    reserved.READ_SKILL: _read_material,
    reserved.READ_REFERENCE: _read_material,
    reserved.TASK: _task,
    reserved.DELEGATE: _delegate,
}
