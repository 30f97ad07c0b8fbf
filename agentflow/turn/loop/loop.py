"""The interpreter of decisions: what is decided is done, and what that leads to is decided next (T8, C33).

The same loop runs the main agent and every sub-agent, whoever decides. It stages and commits through its execution
and comes back with what ended it; what that means for the turn is for whoever started the loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from agentflow.conversation.history import Exchange
from agentflow.conversation.repair import ASK_USER
from agentflow.errors import ModelError
from agentflow.live.event_feed import Feed
from agentflow.message import Message, ToolCall
from agentflow.models.assembly import Reply
from agentflow.models.fallback.candidates import PassedOver
from agentflow.models.protocol import ModelRequest
from agentflow.store.rows import changes
from agentflow.text import compact_json
from agentflow.tools.results import ToolResult
from agentflow.turn.calls import left_open, sent_request
from agentflow.turn.calls.hooks import Hooks
from agentflow.turn.calls.model_stream import stream_reply
from agentflow.turn.calls.sent_files import files_of
from agentflow.turn.decide.actions import AskUser, Call, CallModel, CallTool, Done, Fail, Following
from agentflow.turn.decide.decision import Decision
from agentflow.turn.decide.triggers import ReplyFinished
from agentflow.turn.loop.call_round import CallRound, Round
from agentflow.turn.loop.course import Course
from agentflow.turn.loop.making_room import Room
from agentflow.turn.loop.model_use import ModelUse
from agentflow.turn.loop.planner import Planner
from agentflow.turn.loop.tool_runs import Builtin, ToolRuns
from agentflow.turn.rules.decisions import AskLimit, Ended, Pause, after_reply, limit_reached, within
from agentflow.turn.rules.limits import reached
from agentflow.turn.run import model_calls
from agentflow.turn.run.execution import Execution
from agentflow.turn.run.in_flight import OpenStream
from agentflow.turn.run.step import Step


class Loop:
    """Runs one execution. `inputs` are those of its agent; `given_ids` takes down ids of calls that got one of ours."""

    def __init__(
        self, step: Step, execution: Execution, course: Course, inputs: Mapping[str, Any],
        builtins: Mapping[str, Builtin], given_ids: dict[str, str],
    ) -> None:  # fmt: skip
        self._step = step
        self._execution = execution
        self._course = course
        self._inputs = inputs
        self._given_ids = given_ids
        self._journal = execution.journal
        self._room = Room(step, execution, course)
        self._planner = Planner(step, execution)
        self._hooks = Hooks(step, execution)
        self._tools = ToolRuns(step, execution, course, self._hooks, builtins)
        self._has_begun = False
        self._last_of: str | None = None  # the limit whose one last call was made (T39)

    async def run(self, decision: Decision) -> Ended:
        """Do what was decided, and what is decided then, until something ends it.

        Raises `ModelError`, `WorkerFailed` and `Interrupted`: what is open then is known to the execution.
        """
        following: Decision | Ended = decision
        while isinstance(following, Decision):
            following = await self._perform(following)
        return following

    async def handed_back(self, held: Exchange, call: ToolCall, result: ToolResult) -> Ended:
        """Go on with the result of a `delegate` call that waited for an answer; the other results are there."""
        following = await self._round(held.message, None, None).handed_back(held, call, result)
        return following if isinstance(following, Pause) else await self.run(following)

    async def _perform(self, decision: Decision) -> Decision | Ended:
        """One decision, in its order."""
        await self._course.take(decision)
        if decision.replace is not None:
            await self._course.replace(decision.replace, None)
        if decision.record is not None:
            self._execution.staging.record(decision.record)
        if decision.record is not None and decision.record.tool_calls:
            return await self._round(decision.record, decision.then, None).run(decision)
        if decision.calls:
            return await self._own_calls(decision)
        return await self._follow(decision.then)

    async def _follow(self, then: Following | None) -> Decision | Ended:
        """The end of a decision; with nothing more to do the turn is done (C33)."""
        match then:
            case CallModel():
                return await self._call_model(then)
            case Done() | Fail():
                return then
            case None:
                return Done()

    async def _own_calls(self, decision: Decision) -> Decision | Ended:
        """Calls that no reply asked for are a message of their own."""
        calls = tuple(map(self._call, decision.calls))
        message = Message(self._step.new_id(), "assistant", None, calls)
        self._execution.staging.record(message)
        acted = replace(decision, calls=tuple(CallTool(call.id) for call in calls))
        return await self._round(message, decision.then, None).run(acted)

    def _call(self, action: Call) -> ToolCall:
        """A call with an id that no other one has; one that is answered from outside always gets ours (T14)."""
        name = ASK_USER if isinstance(action, AskUser) else action.name or ""
        arguments = action.arguments if isinstance(action, AskUser) else compact_json(action.input or {})
        agent = self._execution.agent
        from_outside = name == ASK_USER or name in agent.worker_tools or name in agent.client_tools
        id_ = action.id
        if id_ is None or from_outside or self._execution.transcript.has_call(id_):
            id_ = self._step.new_id()
            if action.id is not None:
                self._given_ids[id_] = action.id
        return ToolCall(id_, name, arguments)

    def _round(self, reply: Message, then: Following | None, limit: str | None) -> CallRound:
        return CallRound(self._step, self._execution, self._course, self._tools, Round(reply, then, limit))

    # -- a model call ------------------------------------------------------------------------------------------------

    async def _call_model(self, call: CallModel) -> Decision | Ended:
        allowed = self._allowed(call)
        if not isinstance(allowed, CallModel):
            return allowed
        begun = await self._begin(allowed)
        if not isinstance(begun, CallModel):
            return begun
        waiting = self._execution.in_flight.waiting
        call_id = waiting if waiting is not None else self._request(begun)
        if waiting is None:
            await self._execution.commit()
        return await self._send(call_id, begun)

    def _allowed(self, call: CallModel) -> CallModel | AskLimit | Fail:
        """The call, the last one when a limit is used up, or what a limit has instead of it (T39)."""
        execution, settings = self._execution, self._execution.agent.config.settings
        if call.limit is not None or not execution.spent.iterations:
            return call
        name = reached(settings, execution.spent, execution.usage)
        if name is None:
            return call
        if settings.on_limit == "ask":
            return AskLimit(name)
        if settings.on_limit == "answer" and self._last_of != name:
            self._last_of = name
            return replace(call, limit=name)
        return Fail(limit_reached(name, getattr(settings, name)), limit=name)

    async def _begin(self, call: CallModel) -> CallModel | Decision | Pause:
        """Before the first model call of a step: the compaction of `settings`, then the plan of the turn (T6, T33)."""
        if self._has_begun:
            return call
        self._has_begun = True
        if self._room.due_by_settings():
            call_id = self._execution.in_flight.waiting or self._request(call)
            compacted = await self._room.by_settings(call_id, call)
            if isinstance(compacted, Decision):
                return compacted
            call = compacted
        planned = await self._planner.run()
        if isinstance(planned, Pause):
            return planned
        return call if planned is None else await self._unplanned(planned, call)

    async def _unplanned(self, failed: ReplyFinished, call: CallModel) -> CallModel | Decision:
        """The planner's call failed: the turn goes on without a plan, unless something else is decided."""
        decision = await self._course.decide(failed, Decision(then=call))
        plain = isinstance(decision.then, CallModel) and not decision.leaves and not decision.calls
        return decision.then if plain and isinstance(decision.then, CallModel) else decision

    def _request(self, call: CallModel) -> str:
        call_id = self._step.new_id()
        use = ModelUse.of(call, self._execution, self._inputs)
        model_calls.request(self._execution, call_id, use.asked(self._execution).first.name)
        return call_id

    async def _send(self, call_id: str, call: CallModel) -> Decision | Ended:
        """Let a call go out that waits; the reply, or its failure, is decided about."""
        with_tools = call.limit is None and bool(self._execution.agent.schemas)
        if call.messages is None:
            held = await self._room.before(call_id, call, with_tools=with_tools)
            if isinstance(held, Decision):
                return held
            call = held
        try:
            try:
                reply = await self._stream(call_id, call)
            except ModelError as error:
                if call.messages is not None or not self._execution.in_flight.take_back(error):
                    raise
                self._execution.spent.taken_back()
                held = await self._room.after_refusal(call_id, call, with_tools=with_tools)
                if isinstance(held, Decision):
                    return held
                call = held
                reply = await self._stream(call_id, call)
        except ModelError as error:
            return await self._failed(error)
        return await self._replied(call, reply)

    async def _stream(self, call_id: str, call: CallModel) -> Reply:
        """The reply of the first candidate that gives one; each that is asked has a call of its own (W5)."""
        execution, settings = self._execution, self._execution.agent.config.settings
        use, now = ModelUse.of(call, execution, self._inputs), asyncio.get_running_loop().time
        asked = use.asked(execution)
        passed_over: Sequence[PassedOver] = asked.passed_over
        for index, model in enumerate(asked):
            if index:
                call_id = self._step.new_id()
                model_calls.request(execution, call_id, model.name)
                await execution.commit()
            try:
                return await self._ask(
                    call_id, replace(use, model=model), passed_over, asked.retries(settings.llm_retries)
                )
            except ModelError as error:
                stream = execution.in_flight.stream
                failure = asked.failed(error, now(), shown=stream is not None and stream.has_shown)
                if failure is not None:
                    raise failure from None
                model_calls.fail(execution, error, "errored")
                execution.spent.taken_back()
                passed_over = ()
        raise RuntimeError("nobody was asked")

    async def _ask(self, call_id: str, use: ModelUse, passed_over: Sequence[PassedOver], retries: int) -> Reply:
        execution, settings = self._execution, self._execution.agent.config.settings
        if use.model.name != execution.in_flight.waiting_model:
            model_calls.change_model(execution, call_id, use.model.name)
        built = use.request(execution)
        stream = OpenStream(
            call_id, "main", use.model.name, use.prompt, built.chars, asyncio.get_running_loop().time(),
            bool(use.tools), use.streamed, execution.delta_says, passed_over=passed_over,
        )  # fmt: skip
        messages, named = built.messages, built.files
        if self._hooks.has("pre_model"):
            said = await self._hooks.call("pre_model", {"messages": messages})
            messages, named = said.get("messages", messages), None
        is_lean = self._step.reads_lean(settings)
        stream.sent = sent_request.of_loop(
            execution, use.model, use.verbatim, built.messages, messages, is_lean=is_lean
        )
        request = ModelRequest(
            call_id, "main", messages, use.tools, built.chars, self._journal.session_id, self._step.claimed.turn
        )
        files = await files_of(self._step.store, self._journal.session_key, messages, use.model.name, named)
        model_calls.go_out(execution, stream)
        feed = self._journal.feed if use.streamed else Feed(self._journal.session_id)
        with self._step.interrupt.window():
            return await stream_reply(
                use.model, request, stream, feed, self._journal.turn_id,
                lambda text: self._keep(stream, text),
                timeout_secs=settings.llm_timeout_secs, retries=retries, files=files,
            )  # fmt: skip

    async def _keep(self, stream: OpenStream, text: str) -> None:
        """Keep what of a stream outlives a crash: what somebody has seen (T30)."""
        if stream.streamed:
            await self._journal.commit_aside(changes.CheckpointLlmCall(text, stream.call_id))

    async def _failed(self, error: ModelError) -> Decision | Ended:
        """A call that gave no reply: the turn fails with what was shown, unless something else is decided."""
        stream, proposal = self._execution.in_flight.stream, Decision(then=Fail(error))
        if stream is None:
            raise error
        shown = Message(stream.call_id, "assistant", stream.shown) if stream.shown.strip() else None
        trigger = ReplyFinished(stream.call_id, "main", shown, stream.assembler.usage, error=error)
        decision = await self._course.decide(trigger, proposal)
        if isinstance(decision.then, Fail) and not decision.leaves and not decision.calls:
            return decision.then  # the end of the turn closes the call, and keeps what was shown
        model_calls.fail(self._execution, error, "errored")
        return decision

    # -- a reply -----------------------------------------------------------------------------------------------------

    async def _replied(self, call: CallModel, reply: Reply) -> Decision | Ended:
        execution, agent = self._execution, self._execution.agent
        call_id = execution.in_flight.streaming.call_id
        if self._hooks.has("post_model"):
            said = await self._hooks.call("post_model", {"text": reply.text, "finish_reason": reply.finish_reason})
            reply = replace(reply, text=said["text"]) if "text" in said else reply
        whole = self._message(call_id, reply)
        message = None if whole is None else within(whole, agent.config.settings.max_tool_calls_per_reply)
        proposal = after_reply(
            message, reply.finish_reason or "", enders=agent.enders, settings=agent.config.settings,
            spent=execution.spent, limit=call.limit,
        )  # fmt: skip
        trigger = ReplyFinished(call_id, "main", message, reply.usage, reply.finish_reason == "length")
        decision = await self._course.decide(trigger, proposal)
        decision = self._with_own(call_id, decision)
        if whole is not None and decision.record is not whole:
            execution.staging.add(changes.KeepReply(compact_json(whole.as_dict()), call_id))
        if decision.replace is not None and decision.acts_on_reply:
            model_calls.complete(execution, reply, None)  # the reply follows the history that replaces this one
            return decision
        return await self._recorded(reply, decision, call.limit)

    async def _recorded(self, reply: Reply, decision: Decision, limit: str | None) -> Decision | Ended:
        execution, record = self._execution, decision.record
        model_calls.complete(execution, reply, record)
        after = replace(decision, record=None, given=(), calls=())
        if record is None:
            return replace(after, calls=decision.calls)
        if not record.tool_calls:
            execution.transcript.remember(record)
            return after
        if not decision.leaves:
            return await self._round(record, decision.then, limit).run(decision)
        following = await self._round(record, None, limit).run(Decision())  # nobody acts on its calls
        return following if isinstance(following, Pause) else replace(after, calls=decision.calls)

    def _message(self, call_id: str, reply: Reply) -> Message | None:
        """The reply as it is recorded; a reply that says nothing is no message (B37)."""
        calls = left_open.identified(self._execution, reply.tool_calls, self._step.new_id)
        text = reply.text if reply.text.strip() else None
        if text is None and not calls:
            return None
        stream = self._execution.in_flight.stream
        provider = {"model": stream.model, **reply.provider} if reply.provider and stream is not None else None
        return Message(call_id, "assistant", text, calls, provider=provider)

    def _with_own(self, call_id: str, decision: Decision) -> Decision:
        """A reply with the calls that were added to it, and with the inputs that its calls run with."""
        record = decision.record
        asked = {call.id for call in record.tool_calls} if record is not None else set()
        added = [call for call in decision.calls if call.id not in asked]
        inputs = {
            call.id: call.input for call in decision.calls
            if isinstance(call, CallTool) and call.id in asked and call.input is not None
        }  # fmt: skip
        if (decision.leaves and not decision.acts_on_reply) or not (added or inputs):
            return decision
        own = {id(action): self._call(action) for action in added}
        record = record or Message(call_id, "assistant", None)
        kept = tuple(
            replace(call, arguments=compact_json(inputs[call.id])) if call.id in inputs else call
            for call in record.tool_calls
        )
        calls = tuple(CallTool(own[id(action)].id if id(action) in own else action.id) for action in decision.calls)
        return replace(decision, record=replace(record, tool_calls=(*kept, *own.values())), calls=calls)
