"""The iteration loop of an agent with a worker: each step is proposed first, and done as the worker says (C32, C33).

An answer that is the proposal is performed by the very code that runs without a worker. Anything else becomes the
same kinds of decision: a reply to record, calls to run, an end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from agentflow.agents.loaded_agent import LoadedAgent
from agentflow.agents.worker import Worker
from agentflow.conversation.history import BuiltRequest, Exchange, checked_wire, wire_chars
from agentflow.conversation.repair import ASK_USER
from agentflow.errors import InvalidInput, WorkerFailed
from agentflow.message import Message, ToolCall
from agentflow.models.assembly import Reply
from agentflow.store import rows
from agentflow.text import compact_json
from agentflow.tools.calls import Prepared, finalize
from agentflow.tools.results import ToolResult, refused
from agentflow.turn.loop.loop import Ended, Loop, Next
from agentflow.turn.rules.decisions import CallModel, Fail, Finish, NextMove, Pause, RunTools, after_reply
from agentflow.turn.rules.limits import reached
from agentflow.turn.run import model_calls, tool_calls
from agentflow.turn.run.execution import Execution
from agentflow.turn.run.step import Step
from agentflow.turn.worker.actions import CALLS, RESULTS, proposed_by, replaces, result_of, with_input
from agentflow.turn.worker.decision_points import DecisionPoints
from agentflow.turn.worker.making_room import REPLACE, PathMoved, TurnDecided, WorkerRoom, replace_by_worker
from agentflow.turn.worker.protocol import Action, Response, continued

_NOT_ACTED_ON = "Not run: the worker did not act on this call."
_KEPT_BACK = "The worker recorded no result of this call."


def loop_of(step: Step, execution: Execution) -> Loop:
    """The loop of the turn's own agent."""
    worker = execution.agent.worker
    return Loop(step, execution) if worker is None else WorkerLoop(step, execution, worker)


class WorkerLoop(Loop):
    """Asks at each decision point; `_calls` are calls of the worker's own, to run next."""

    def __init__(self, step: Step, execution: Execution, worker: Worker) -> None:
        super().__init__(step, execution)
        self._points = DecisionPoints(step, execution, worker)
        self._room = WorkerRoom(step, execution, self._points, self._decision)
        self._then: Sequence[Action] = ()  # a `context.replace` and what follows, once the reply is recorded
        self._told: dict[str, dict[str, Any]] = {}  # results that are decided, by call; recorded a moment later
        self._given: dict[str, ToolResult] = {}
        self._calls: list[ToolCall] = []
        self._verdict: Finish | Fail | None = None
        self._verbatim: BuiltRequest | None = None
        self._data: Any = None
        self._lent: LoadedAgent | None = None  # the agent, while one call goes to another of its models

    # -- the input ---------------------------------------------------------------------------------------------------

    async def begin(self) -> Ended | None:
        """Ask about the input; null when it is to be answered as proposed."""
        claimed, points = self._step.claimed, self._points
        await points.load()
        actions: list[Action] = [{"type": "llm.call" if claimed.answer is None else "done"}]
        with self._step.interrupt.window():
            if claimed.turn == 1 and not claimed.resumed:
                await points.start()
            response = await points.ask(self._input(), await points.view(), actions)
        if response.took:
            return None
        await self._merge(response)
        return await self._go(self._next(response.actions))

    async def take_up(self) -> None:
        await self._points.load()

    async def handed_back(self, held: Exchange, call: ToolCall, result: ToolResult) -> Ended:
        try:
            ended = await super().handed_back(held, call, result)
        except PathMoved as moved:
            following, call_id = await self._leave(moved)
            ended = await self.run(call_id) if isinstance(following, CallModel) else following
        return await self._go(ended) if self._calls or self._then else ended

    async def _delegated(self, prepared: Prepared, result: ToolResult) -> ToolResult:
        return await self._finished(prepared, await super()._delegated(prepared, result))

    def _input(self) -> dict[str, Any]:
        claimed, path = self._step.claimed, self._points.path
        if claimed.resumed:
            answered = claimed.messages[0]
            return {"type": "ask_user.answered", "id": answered.tool_call_id, "answer": answered.content}
        delivered = claimed.delivered or path
        return {
            "type": "client.messages",
            "messages": [message.as_dict() for message in delivered],
            "new_from": claimed.new_from,
            "client": dict(claimed.client),
        }

    async def _merge(self, response: Response) -> None:
        """Record what the response's messages add, wherever that is (C33)."""
        if response.messages is not None and continued(self._points.path, response.messages) != ():
            await self._points.merge(response.messages)
        await self._replace(response.actions)

    async def _replace(self, actions: Sequence[Action]) -> None:
        for action in actions:
            if action["type"] == REPLACE:
                await replace_by_worker(self._step, self._execution, action, None)

    # -- what follows ------------------------------------------------------------------------------------------------

    def _next(self, actions: Sequence[Action]) -> Next:
        """What the actions lead to. No action: the turn ends (C33)."""
        self._calls = [self._call(action) for action in actions if action["type"] in ("tool.call", "ask_user")]
        if self._calls:
            return Finish()
        for action in actions:
            if (decision := self._decision(action)) is not None:
                return decision
        return Finish()

    def _decision(self, action: Action) -> CallModel | Finish | Fail | None:
        match action["type"]:
            case "done":
                self._data = action.get("data")
                return Finish()
            case "fail":
                error = action["error"]
                said = error.get("message") if isinstance(error, dict) else error
                return Fail(WorkerFailed(str(said)))
            case "llm.call":
                self._prepare_call(action)
                return CallModel()
        return None

    def _prepare_call(self, action: Action) -> None:
        if action.get("messages") is not None:
            try:
                messages = checked_wire(action["messages"])
            except (InvalidInput, ValueError, TypeError, AssertionError) as error:
                raise WorkerFailed(f"The worker's llm.call has messages that cannot be sent: {error}") from error
            self._verbatim = BuiltRequest(messages, sum(wire_chars(each, self._agent.model.name) for each in messages))
        name = action.get("llm") or action.get("interface")
        if name is not None:
            name = str(name).removeprefix("llm://")
            if name not in self._agent.models:
                raise WorkerFailed(f"The worker's llm.call names {name!r}, which is no interface of the agent.")
            self._lent = self._lent or self._agent
            models = {**self._lent.models, "main": self._lent.models[name]}
            self._execution.change_agent(replace(self._lent, models=models))

    def _call(self, action: Action) -> ToolCall:
        name = ASK_USER if action["type"] == ASK_USER else str(action.get("name") or "")
        said = {"questions": action["questions"]} if action["type"] == ASK_USER else action.get("input") or {}
        return ToolCall(str(action.get("id") or self._step.new_id()), name, compact_json(said))

    async def _go(self, following: Next) -> Ended:
        """Go on with the worker's own calls, with a model call, or end."""
        while True:
            if self._then:
                actions, self._then = self._then, ()
                await self._replace(actions)
                following = self._next(actions)
            if self._calls:
                calls, self._calls = tuple(self._calls), []
                message = Message(self._step.new_id(), "assistant", None, calls)
                self._execution.staging.record(message)
                plan = self._plan(calls)
                following, call_id = await self._run_tools(plan, message, calls, None)
            elif isinstance(following, CallModel):
                call_id = self._step.new_id()
                model_calls.request(self._execution, call_id)
                await self._execution.commit()
            if isinstance(following, CallModel):
                following = await self._iterate(call_id, following.limit)
            if not self._calls and not self._then:
                return following

    async def run(self, call_id: str, limit: str | None = None) -> Ended:
        ended = await self._iterate(call_id, limit)
        return await self._go(ended) if self._calls or self._then else ended

    async def _iterate(self, call_id: str, limit: str | None) -> Ended:
        try:
            return await super().run(call_id, limit)
        except TurnDecided as decided:
            return decided.decision

    async def finish(self, ended: Ended) -> Ended:
        """Ask whether the turn is over (`turn.finished`)."""
        while isinstance(ended, Finish):
            usage = self._execution.usage
            cost = None if usage.cost is None else str(usage.cost)
            trigger = {"type": "turn.finished", "data": self._data, "cost": cost, "usage": usage.as_dict()}
            with self._step.interrupt.window():
                response = await self._points.ask(trigger, await self._points.view(), [{"type": "done"}])
            if response.took:
                return ended
            await self._merge(response)
            following = self._next(response.actions)
            if isinstance(following, Fail):
                return following
            if not self._calls and not isinstance(following, CallModel):
                return ended
            if reached(self.settings, self._execution.spent, usage):
                return ended
            ended = await self._go(following)
        return ended

    # -- model replies -----------------------------------------------------------------------------------------------

    def _request(self, *, with_tools: bool) -> BuiltRequest:
        verbatim, self._verbatim = self._verbatim, None
        return verbatim or super()._request(with_tools=with_tools)

    def _plan(self, calls: Sequence[ToolCall]) -> RunTools:
        planned = after_reply(
            calls, "tool_calls", "", enders=self._agent.enders, settings=self.settings, spent=self._execution.spent,
            limit=None,
        )  # fmt: skip
        return planned if isinstance(planned, RunTools) else RunTools()

    async def _decided(
        self, call_id: str, reply: Reply, message: Message | None, plan: NextMove
    ) -> tuple[Message | None, NextMove]:
        if self._lent is not None:
            self._execution.change_agent(self._lent)
            self._lent = None
        usage = reply.usage.as_dict() if reply.usage else None
        trigger = {
            "type": "llm.finished", "id": call_id, "purpose": "main",
            "message": None if message is None else message.as_dict(), "usage": usage,
            "truncated": reply.finish_reason == "length", "ok": True, "error": None,
        }  # fmt: skip
        view = await self._points.view()
        proposed = view if message is None else [*view, message.as_dict()]
        with self._step.interrupt.window():
            response = await self._points.ask(trigger, proposed, proposed_by(plan))
        if response.took:
            return message, plan
        recorded = await self._reply(call_id, message, response)
        if message is not None and recorded != message:
            self._execution.staging.add(rows.KeepReply(compact_json(message.as_dict()), call_id))
        return self._acted(call_id, recorded, response.actions)

    async def _reply(self, call_id: str, message: Message | None, response: Response) -> Message | None:
        """The reply as the worker has it recorded: changed, or not at all; other messages are merged."""
        if response.messages is None:
            return None
        added = continued(self._points.path, response.messages)
        if added == ():
            return None
        if added is None or len(added) > 1 or added[0].role != "assistant":
            await self._points.merge(response.messages)
            return None
        said = added[0]
        if message is not None and said.as_dict() | {"id": call_id} == message.as_dict():
            return message
        return replace(said, id=call_id)

    def _acted(
        self, call_id: str, message: Message | None, actions: Sequence[Action]
    ) -> tuple[Message | None, NextMove]:
        """What the actions make of the reply's calls; those that nobody acts on get placeholders (C33)."""
        if any(action["type"] == REPLACE for action in actions):
            self._then, actions = actions, ()
        asked = {call.id: call for call in message.tool_calls} if message is not None else {}
        given = {str(action["id"]): result_of(action) for action in actions if action["type"] in RESULTS}
        acted = {str(action.get("id")): action for action in actions if action["type"] == "tool.call"}
        running = [with_input(call, acted[id_]) for id_, call in asked.items() if id_ in acted]
        own = [action for action in actions if action["type"] in CALLS and str(action.get("id")) not in asked]
        added = [self._call(action) for action in own]
        if not asked and not added:
            return message, self._plain(actions)
        message = message or Message(call_id, "assistant", None)
        message = replace(message, tool_calls=(*message.tool_calls, *added))
        self._verdict = self._end_of(actions)
        plan = self._plan([*running, *added])
        left = tuple((call, _NOT_ACTED_ON) for id_, call in asked.items() if id_ not in acted and id_ not in given)
        settled = tuple((asked[id_], result) for id_, result in given.items() if id_ in asked and id_ not in acted)
        return message, replace(plan, refused=(*plan.refused, *left), settled=settled)

    def _plain(self, actions: Sequence[Action]) -> NextMove:
        following = self._next(actions)
        return following if isinstance(following, CallModel | Fail) else Finish()

    def _end_of(self, actions: Sequence[Action]) -> Finish | Fail | None:
        for action in actions:
            if action["type"] in ("done", "fail"):
                decision = self._decision(action)
                return decision if isinstance(decision, Finish | Fail) else None
        return None

    # -- tool calls --------------------------------------------------------------------------------------------------

    async def _run_tools(
        self, plan: RunTools, reply: Message, calls: tuple[ToolCall, ...], limit: str | None
    ) -> tuple[Next, str]:
        self._told, self._given = {}, {}
        try:
            return await super()._run_tools(plan, reply, calls, limit)
        except PathMoved as moved:
            return await self._leave(moved)

    def _decide(self, asked: Pause | None, answer: str | None, limit: str | None) -> Next:
        verdict, self._verdict = self._verdict, None
        if asked is None and (verdict is not None or self._calls):
            return verdict or Finish()
        return super()._decide(asked, answer, limit)

    async def _left_open(self, prepared: Prepared) -> ToolResult:
        """`tool.execute`: the worker answers at once, or leaves the call open."""
        call = prepared.call
        trigger = {"type": "tool.execute", "id": call.id, "name": call.name, "input": prepared.arguments}
        async with self._points.lock:
            response = await self._points.ask(trigger, await self._view(), [])
        if response.messages is not None or replaces(response):
            raise PathMoved(call.id, response)
        self._settle(response.actions)
        self._verdict = self._end_of(response.actions) or self._verdict
        if self._verdict is not None:
            return self._given.pop(call.id, refused(_NOT_ACTED_ON, "refused"))
        given = self._given.pop(call.id, None)
        return given or await super()._left_open(prepared)

    def _settle(self, actions: Sequence[Action]) -> None:
        for action in actions:
            if action["type"] in RESULTS:
                self._given[str(action["id"])] = result_of(action)
                self._step.settled.set()

    async def _perform(self, prepared: Prepared) -> ToolResult | Pause:
        result = await super()._perform(prepared)
        if isinstance(result, Pause):
            return result
        async with self._points.lock:
            return await self._finished(prepared, finalize(result, prepared.tool))

    async def _finished(self, prepared: Prepared, result: ToolResult) -> ToolResult:
        """`tool.finished`: what is recorded of a result, and what follows once no other call is open."""
        call = prepared.call
        told = {"role": "tool", "tool_call_id": call.id, "name": call.name, "content": result.text}
        in_flight = self._execution.in_flight.calls.values()
        open_calls = [each for each in in_flight if each.id not in (call.id, *self._told)]
        is_last = not any(each.name != ASK_USER for each in open_calls)
        ends = call.name in self._agent.enders and result.ok
        actions: list[Action] = [{"type": "done" if ends else "llm.call"}] if is_last and not open_calls else []
        said = {"result" if result.ok else "error": result.text}
        trigger = {"type": "tool.finished", "id": call.id, "name": call.name, "ok": result.ok, **said}
        response = await self._points.ask(trigger, [*(await self._view()), told], actions)
        self._told[call.id] = told
        if response.took:
            return result
        if replaces(response):
            raise PathMoved(call.id, response)
        kept = self._kept(call.id, response)
        self._settle(response.actions)
        following = self._next([action for action in response.actions if action["type"] not in RESULTS])
        if isinstance(following, Fail) or (isinstance(following, Finish) and (response.actions or is_last)):
            self._verdict = None if self._calls else following
        if kept is None:
            return refused(_KEPT_BACK, "kept_back")
        return result if kept == result.text else replace(result, text=kept, full=result.full or result.text)

    def _kept(self, call_id: str, response: Response) -> str | None:
        """The text of the result as the worker has it recorded, null for none. Raises `PathMoved`."""
        view = response.messages or ()
        decided = [message for message in view if message.role == "tool" and message.tool_call_id in self._told]
        if response.messages is not None:
            rest = [message for message in view if message not in decided or self._is_recorded(message)]
            if continued(self._points.path, rest) != ():
                raise PathMoved(call_id, response)
        own = [message for message in decided if message.tool_call_id == call_id]
        return None if not own else str(own[-1].content or "")

    def _is_recorded(self, message: Message) -> bool:
        return any(message.id == recorded.id for recorded in self._points.path)

    async def _view(self) -> list[dict[str, Any]]:
        """The path, and the results that are decided and not recorded yet."""
        open_calls = self._execution.in_flight.calls
        return [*(await self._points.view()), *(told for id_, told in self._told.items() if id_ in open_calls)]

    async def _leave(self, moved: PathMoved) -> tuple[Next, str]:
        """Merge the view that left the path; calls it left behind are voided (C20)."""
        execution, call_id = self._execution, self._step.new_id()
        tool_calls.void_all(execution)
        await self._points.merge(moved.response.messages or ())
        await self._replace(moved.response.actions)
        following = self._next(moved.response.actions)
        if isinstance(following, CallModel):
            model_calls.request(execution, call_id)
            await execution.commit()
        return following, call_id
