"""The calls of one message, from their rows to what follows once each has its result (T8, T11, C32)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from agentflow.conversation.history import Exchange
from agentflow.conversation.questions import check_questions
from agentflow.conversation.repair import Given as Known
from agentflow.conversation.repair import OpenCall, close
from agentflow.message import Message, ToolCall, text_of
from agentflow.tools.calls import finalize
from agentflow.tools.results import ToolResult, refused
from agentflow.turn.calls.tool_batch import Finished, ToolBatch
from agentflow.turn.decide.actions import CallModel, Done, Fail, Following, Given
from agentflow.turn.decide.decision import Decision
from agentflow.turn.decide.triggers import ToolFinished
from agentflow.turn.loop.course import Course
from agentflow.turn.loop.tool_runs import ToolRuns
from agentflow.turn.rules.decisions import Pause, RunTools, partition
from agentflow.turn.run import tool_calls
from agentflow.turn.run.execution import Execution
from agentflow.turn.run.step import Step

NOT_ACTED_ON = "Not run: the worker did not act on this call."
KEPT_BACK = "The worker recorded no result of this call."
_ENDED = "the worker ended the turn."


@dataclass(frozen=True, slots=True)
class Round:
    """`then` is what was decided to follow, null for what usually does; `limit` made this the last reply (T39)."""

    reply: Message
    then: Following | None
    limit: str | None


class CallRound:
    """Runs the calls of one message of an execution."""

    def __init__(self, step: Step, execution: Execution, course: Course, runs: ToolRuns, round_: Round) -> None:
        self._step = step
        self._execution = execution
        self._course = course
        self._runs = runs
        self._round = round_

    async def run(self, decision: Decision) -> Decision | Pause:
        """Run the calls of the message as decided; it is staged, its calls are not."""
        calls, plan = self._round.reply.tool_calls, self._plan(decision)
        batch = ToolBatch(self._execution, plan, self._runs.perform, self._step.new_id)
        await batch.prepare(calls)
        batch.stage(plan, calls, self._round.reply.id)
        try:
            while batch.is_open:
                await self._execution.commit()
                finished, failure = await batch.next(self._step.interrupt)
                for each in finished:
                    following = await self._finished(batch, each)
                    if following is not None:
                        return following
                if failure is not None:
                    raise failure
                batch.start_waiting()
        finally:
            await batch.abandon()
        acted = bool(decision.given or decision.calls)
        return self._completed(batch, Decision(then=self._round.then or (self._usual(batch) if acted else Done())))

    async def handed_back(self, held: Exchange, call: ToolCall, result: ToolResult) -> Decision | Pause:
        """Go on with the result of a `delegate` call that waited for an answer; the other results are there."""
        batch = ToolBatch(self._execution, RunTools(), self._runs.perform, self._step.new_id)
        prepared, result = await self._runs.handed_back(call, result)
        if prepared is None:
            recorded = tool_calls.finish(self._execution, call.id, self._step.new_id(), result, None)
            batch.results += [*held.results, recorded]
            return self._completed(batch, Decision(then=CallModel()))
        batch.go_on(prepared, held.results)
        following = await self._finished(batch, Finished(prepared, result, None))
        return following or self._completed(batch, Decision(then=self._usual(batch)))

    def _plan(self, decision: Decision) -> RunTools:
        """The calls that were decided to run; those that nobody acted on get placeholders."""
        execution, asked = self._execution, {call.id: call for call in self._round.reply.tool_calls}
        running = [asked[call.id] for call in decision.calls if call.id in asked]
        given = {given.id: given for given in decision.given}
        plan = partition(running, execution.agent.enders, execution.agent.config.settings, execution.spent)
        ids = {call.id for call in running}
        left = [call for id_, call in asked.items() if id_ not in ids and id_ not in given]
        return replace(
            plan,
            refused=(*plan.refused, *((call, NOT_ACTED_ON) for call in left)),
            settled=tuple((asked[id_], each.outcome) for id_, each in given.items()),
        )

    # -- results -----------------------------------------------------------------------------------------------------

    async def _finished(self, batch: ToolBatch, finished: Finished) -> Decision | Pause | None:
        """Record what a call came to; what follows, null as long as others are open."""
        outcome = finished.outcome
        if isinstance(outcome, Pause):
            batch.paused(outcome)
            return None
        async with self._course.one_at_a_time:
            if isinstance(outcome, Decision):
                return await self._said_instead(batch, outcome)
            return await self._decided(batch, finished, finalize(outcome, finished.prepared.tool))

    async def _decided(self, batch: ToolBatch, finished: Finished, result: ToolResult) -> Decision | Pause | None:
        """`tool.finished`: what is recorded of a result, and what follows once no other call is open."""
        call, ends = finished.prepared.call, batch.ends_with(finished) and result.ok
        message = Message(self._step.new_id(), "tool", result.text, (), call.id, call.name)
        is_last = len(self._execution.in_flight.calls) == 1
        usual = Done(limit=self._round.limit) if ends else self._usual(batch)
        proposal = Decision(record=message, then=(self._round.then or usual) if is_last else None)
        decision = await self._course.decide(ToolFinished(call, result.ok, result.text), proposal)
        if decision.record is not None or not decision.leaves:
            batch.record(finished, _as_recorded(result, message, decision.record), message.id)
        for given in decision.given:
            self._runs.give(given.id, given.outcome)
        if decision.leaves or decision.calls or (not is_last and decision.then is not None):
            return await self._broken_off(batch, decision)
        if not is_last:
            return None
        return self._completed(batch, replace(decision, record=None, given=(), then=decision.then or Done()))

    async def _said_instead(self, batch: ToolBatch, decision: Decision) -> Decision | Pause:
        """What a worker said at `tool.execute` instead of leaving the call open."""
        for given in decision.given:
            if given.id in self._execution.in_flight.calls:
                await self._give(batch, given)
        return await self._broken_off(batch, decision)

    async def _give(self, batch: ToolBatch, given: Given) -> None:
        known = (await self._given_outside(self._execution.in_flight.calls[given.id])).given
        result = given.outcome if known is None else ToolResult(known.ok, known.text)
        batch.results.append(tool_calls.finish(self._execution, given.id, self._step.new_id(), result, None))

    async def _given_outside(self, call: OpenCall) -> OpenCall:
        """An open call with the result that was acknowledged to somebody and is not recorded yet (C34)."""
        execution = self._execution
        if call.name not in execution.agent.worker_tools:
            return call
        found = await self._step.store.settlement(execution.journal.session_key, execution.number, call.id)
        return call if found is None else replace(call, given=Known(*found))

    async def _broken_off(self, batch: ToolBatch, decision: Decision) -> Decision | Pause:
        """Go on with what was decided while calls may be open: they are closed, or left behind with their path."""
        await batch.abandon()
        decision = replace(decision, record=None, given=())
        if decision.leaves or isinstance(decision.then, Fail):
            return decision
        still_open = [await self._given_outside(call) for call in self._execution.in_flight.calls.values()]
        closing = close(still_open, "", _ENDED, marker=None)
        batch.results += tool_calls.close_all(self._execution, closing, self._step.new_id)
        return self._completed(batch, decision)

    # -- what follows ------------------------------------------------------------------------------------------------

    def _usual(self, batch: ToolBatch) -> Following:
        """What follows when nothing else was decided: the model reads the results, or the turn has its answer."""
        if batch.answer is not None or self._round.limit is not None:
            return Done(limit=self._round.limit)
        return CallModel()

    def _completed(self, batch: ToolBatch, decision: Decision) -> Decision | Pause:
        """Every call has its result: the exchange is whole, and the turn pauses for a question that waits."""
        execution = self._execution
        if (asked := self._asked(batch)) is not None and execution.in_flight.calls:
            return asked
        execution.transcript.remember(self._round.reply, *batch.results)
        if batch.answer is not None and isinstance(decision.then, Done):
            execution.record(Message(self._step.new_id(), "assistant", batch.answer))
        return decision

    def _asked(self, batch: ToolBatch) -> Pause | None:
        """The question that waits: the execution's own, or that of a sub-agent the turn was handed to (T22)."""
        if batch.asked is None:
            return batch.pause
        checked = check_questions(batch.asked.arguments)
        return Pause(batch.asked.call.id, checked if isinstance(checked, tuple) else (), self._execution.number)


def _as_recorded(result: ToolResult, proposed: Message, recorded: Message | None) -> ToolResult:
    if recorded is proposed:
        return result
    if recorded is None:
        return refused(KEPT_BACK, "kept_back")
    return replace(result, text=text_of(recorded.content), full=result.full or result.text)
