"""Making room before model calls: the effects of what `context` decides (X7-X17).

A call that would read too much is held: it is recorded as requested and waits, and what is proposed for it is decided
like anything else. `context.limited` opens the phase; `context.replaced` or `context.kept` closes it, and a model
call in between is the summary. Whatever fails in here leaves the history as it was: fail open, no loop.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from agentflow import clock, events
from agentflow.context.compaction import Cut, KeptReason, Reading, keep_recent, make_room, refusal
from agentflow.context.strategies import (
    Plan,
    Strategy,
    idle_seconds,
    overflow_plan,
    plan,
    settings_due,
    settings_plan,
)
from agentflow.context.summary import SummaryRequest, summary_request, with_files_named
from agentflow.context.tokens import reported
from agentflow.conversation.history import BuiltRequest, wire_chars
from agentflow.errors import AgentflowError
from agentflow.live.interrupt import Interrupted
from agentflow.message import Message
from agentflow.models.assembly import Reply
from agentflow.models.fallback.fitting import Need
from agentflow.models.protocol import Model
from agentflow.turn.calls.side_call import SideCall, SideCallFailed, ask_aside
from agentflow.turn.decide.actions import CallModel, Done, ReplaceContext
from agentflow.turn.decide.decision import Decision
from agentflow.turn.decide.triggers import ContextLimit, ReplyFinished
from agentflow.turn.loop.course import Course
from agentflow.turn.loop.replace_history import keep_history, restate_todos, tokens_now
from agentflow.turn.run import model_calls
from agentflow.turn.run.execution import Execution
from agentflow.turn.run.recorded_path import recorded_path
from agentflow.turn.run.step import Step

_log = logging.getLogger("agentflow.turn")

CutBy = Callable[[Reading], Cut | None]


@dataclass(frozen=True, slots=True)
class Held:
    """A call that waits for room, and what is proposed for it (X12, X13).

    `call` is how it will be made. Without a `cut` there is nothing to make room with; `summary` is the next call that
    may write one.
    """

    call_id: str
    call: CallModel
    plan: Plan
    cut: Cut | None
    summary: SummaryRequest | None
    with_tools: bool


@dataclass(frozen=True, slots=True)
class Written:
    """What a summary call came to, to be decided about; `kept` is why its text does not replace the history."""

    trigger: ReplyFinished
    proposal: Decision
    kept: KeptReason | None
    summary: SummaryRequest | None = None


class Room:
    """Makes room for one execution. What was tried so far is kept by the execution."""

    def __init__(self, step: Step, execution: Execution, course: Course) -> None:
        self._step = step
        self._execution = execution
        self._course = course
        self._tried = execution.tried
        self._is_main = execution.number == step.claimed.execution
        self._resumed = step.claimed.resumed

    def due_by_settings(self) -> bool:
        """Whether `settings` want the history compacted, before the first model call of a turn (X7, T6)."""
        settings, report = self._execution.agent.config.settings, self._execution.transcript.report
        fraction, window = settings.compaction_threshold_fraction, settings.compaction_context_window_tokens
        return report is not None and settings_due(report, fraction, window, resumed=self._resumed)

    async def by_settings(self, call_id: str, call: CallModel) -> CallModel | Decision:
        """Compact as `settings` say, while the turn's first call waits."""
        settings, report = self._execution.agent.config.settings, self._execution.transcript.report
        if report is None:
            return call
        keep = settings.compaction_keep_recent_messages
        wanted = settings_plan(
            report, settings.compaction_threshold_fraction, settings.compaction_context_window_tokens
        )
        return await self._phase(call_id, call, wanted, lambda reading: keep_recent(reading, keep), with_tools=True)

    async def before(self, call_id: str, call: CallModel, *, with_tools: bool) -> CallModel | Decision:
        """Hold a call of the loop when a strategy applies, and let it go when room is made or cannot be (X11).

        How the call is to be made then, or what is done instead of it.
        """
        if self._tried.is_first and self._resumed and reads_summary(self._execution):
            restate_todos(self._execution)
        wanted = self._wanted(with_tools)
        following: CallModel | Decision = call
        if wanted is not None:
            following = await self._phase(
                call_id, call, wanted, lambda reading: make_room(wanted, reading), with_tools=with_tools
            )
        self._tried.since_last_call = False
        return following

    async def after_refusal(self, call_id: str, call: CallModel, *, with_tools: bool) -> CallModel | Decision:
        """The provider refused a call of the loop as too long: make room, so that it can run once more (X16)."""
        tokens = tokens_now(self._execution, with_tools=with_tools)
        wanted = overflow_plan(self._execution.agent.context, tokens=tokens)
        following = await self._phase(
            call_id, call, wanted, lambda reading: make_room(wanted, reading), with_tools=with_tools
        )
        self._tried.since_last_call = False
        return following

    # -- what is wanted --------------------------------------------------------------------------------------------

    def _wanted(self, with_tools: bool) -> Plan | None:
        context, tried, report = self._execution.agent.context, self._tried, self._execution.transcript.report
        first, tried.is_first = tried.is_first and self._is_main, False
        if not context.strategies:
            return None
        if tried.promised is not None and report is not None:
            tried.gave_up = tried.gave_up or reported(report) > tried.promised
            tried.promised = None
        return plan(
            context,
            tokens=tokens_now(self._execution, with_tools=with_tools),
            first_call_of_turn=first,
            idle=idle_seconds(self._step.claimed.previous_ended_at, clock.instant()),
            resumed=self._resumed,
            compacted_since_last_call=tried.since_last_call,
            gave_up=tried.gave_up,
        )

    # -- what is done ----------------------------------------------------------------------------------------------

    async def _phase(
        self, call_id: str, call: CallModel, wanted: Plan, cut_by: CutBy, *, with_tools: bool
    ) -> CallModel | Decision:
        """From `context.limited` to what closes it, also when the turn ends in between (X20)."""
        try:
            reading = await self._hold(call_id, wanted, with_tools=with_tools)
            cut = cut_by(reading)
            if cut is None and wanted.strategy is None and wanted.reason != "overflow":
                # of `settings`: an attempt that costs nothing leaves the strategies their own
                keep_history(self._execution, "nothing_to_summarize")
                return call
            self._tried.since_last_call = self._tried.since_last_call or _is_by_size(wanted)
            return await self._settle(Held(call_id, call, wanted, cut, _first_summary(wanted, cut), with_tools))
        except BaseException as error:
            keep_history(self._execution, "interrupted" if isinstance(error, Interrupted) else "failed")
            if self._execution.in_flight.waiting is not None:
                model_calls.give_up(self._execution, call_id, given_up())
            raise

    async def _hold(self, call_id: str, wanted: Plan, *, with_tools: bool) -> Reading:
        """Read the path as it is recorded; `context.limited` rides on the next commit."""
        execution = self._execution
        if execution.staging:
            await execution.commit()
        path = await recorded_path(self._step, execution, held=call_id)
        strategy = None if wanted.strategy is None else wanted.strategy.use
        execution.staging.tell(events.context_limited(call_id, wanted.reason, strategy, wanted.tokens, wanted.window))
        execution.tried.limited = wanted.tokens
        chars = execution.request(with_tools=with_tools).chars
        return Reading(
            [entry.message for entry in path],
            turn_from=len(path) - len(execution.transcript.messages),
            lean=self._step.reads_lean(execution.agent.config.settings),
            fixed_chars=chars - execution.transcript.chars,
            model=execution.agent.model.name,
        )

    async def _settle(self, held: Held) -> CallModel | Decision:
        """Do what is decided for the held call: summaries first, then the replace, then the call itself."""
        kept: str = "nothing_to_summarize" if held.cut is None else "declined"
        decision = await self._course.decide(self._limit(held), self._proposal(held))
        while isinstance(decision.then, CallModel) and decision.then.purpose == "summary" and held.cut is not None:
            written = await self._summary(held, held.cut, decision.then)
            held = replace(held, summary=written.summary or held.summary)
            kept = written.kept or "declined"
            decision = await self._course.decide(written.trigger, written.proposal)
        await self._course.take(decision)
        if decision.replace is None:
            keep_history(self._execution, kept)
            self._tried.gave_up = self._tried.gave_up or (kept != "declined" and _is_by_size(held.plan))
        else:
            going = held.call_id if isinstance(decision.then, CallModel) else None
            self._made(held, await self._course.replace(decision.replace, going, with_tools=held.with_tools))
        if isinstance(decision.then, CallModel):
            return again(held.call, decision.then)
        model_calls.give_up(self._execution, held.call_id, given_up())
        return Decision(then=decision.then or Done())

    def _made(self, held: Held, after: int) -> None:
        """Room was made, and `after` tokens are read now: whether that helps (X17)."""
        before = held.cut.tokens_before if held.cut is not None else held.plan.tokens
        by_density = held.plan.tokens * after // max(before, 1)  # the provider's tokens may be smaller
        self._tried.promised = held.plan.limit
        if not held.plan.helped(max(after, by_density)):
            self._tried.gave_up = True
            _log.warning(
                "session %s: room was made and %d tokens are still more than %d; the prompt, the tools and the newest "
                "messages leave no more to gain, so this turn goes on as it is",
                self._execution.journal.session_id, max(after, by_density), held.plan.limit,
            )  # fmt: skip

    def _limit(self, held: Held) -> ContextLimit:
        wanted, request = held.plan, self._execution.request(with_tools=held.with_tools)
        return ContextLimit(
            wanted.reason, None if wanted.strategy is None else wanted.strategy.use, wanted.tokens, wanted.window,
            held.call_id, held.call.interface or "main", request.messages, held.call.stream is not False,
            held.summary is not None,
        )  # fmt: skip

    def _proposal(self, held: Held) -> Decision:
        going = CallModel(id=held.call_id)
        if held.cut is None:
            return Decision(then=going)
        if held.plan.use == "reset":
            return Decision(replace=ReplaceContext(None, held.cut.kept), then=going)
        return Decision(then=self._summary_call(held.plan.strategy))

    def _summary_call(self, strategy: Strategy | None) -> CallModel:
        if strategy is None:
            interface = self._execution.agent.config.settings.compaction_interface
            return CallModel(purpose="summary", stream=False, interface=interface)
        return CallModel(
            purpose="summary", stream=False, interface=strategy.llm, model=strategy.model, prompt=strategy.prompt
        )

    async def _summary(self, held: Held, cut: Cut, call: CallModel) -> Written:
        """Write a summary as decided; what came of it, and what is proposed then (X9, X13, X15)."""
        request = held.summary or summary_request(cut.older, cut.older_of_turn)
        request = request if call.prompt is None else replace(request, prompt=call.prompt)
        about: dict[str, Any] = {"held": held.call_id, "can_summarize": True}
        going = CallModel(id=held.call_id)
        try:
            side, reply = await self._ask(request, call)
        except SideCallFailed as failed:
            error = failed.error
            _log.warning("session %s: the summary call failed: %s", self._execution.journal.session_id, error)
            too_long = error.kind == "context_overflow" and call.messages is None
            shorter = request.shorter() if too_long else None
            trigger = ReplyFinished(failed.call_id, "summary", None, None, error=error, **about)
            if shorter is not None:
                return Written(trigger, Decision(then=call), "failed", shorter)
            return Written(trigger, Decision(then=going), "failed")
        kept = refusal(cut, reply.text, reply.finish_reason)
        message = Message(side.id, "assistant", reply.text)
        trigger = ReplyFinished(side.id, "summary", message, reply.usage, reply.finish_reason == "length", **about)
        summary = with_files_named(reply.text, (*cut.older, *cut.older_of_turn), request.earlier)
        accepted = None if kept is not None else ReplaceContext(summary, cut.kept)
        return Written(trigger, Decision(replace=accepted, then=going), kept)

    async def _ask(self, request: SummaryRequest, call: CallModel) -> tuple[SideCall, Reply]:
        def built(model: Model) -> BuiltRequest:
            if call.messages is None:
                return BuiltRequest(request.messages, request.chars)
            return _verbatim(call.messages, model.name)

        def side(model: Model) -> SideCall:
            prompt = request.prompt if call.messages is None else ""
            return SideCall(self._step.new_id(), "summary", model, built(model), prompt, streamed=bool(call.stream))

        candidates = self._execution.agent.candidates_for(call.interface, call.model)
        first = built(candidates.models[0])
        need = Need.of(first.messages, first.chars, with_tools=False)
        return await ask_aside(self._step, self._execution, candidates, need, side)


def again(held: CallModel, said: CallModel) -> CallModel:
    """The held call as it was, with what is said of it now (X14)."""
    prompt, template = (held.prompt, held.template) if said.prompt is None else (said.prompt, said.template)
    return CallModel(
        None, "main", said.messages or held.messages, said.interface or held.interface, said.model or held.model,
        prompt, template, held.stream if said.stream is None else said.stream, held.limit,
    )  # fmt: skip


def _verbatim(messages: Sequence[dict[str, Any]], model: str) -> BuiltRequest:
    return BuiltRequest(list(messages), sum(wire_chars(each, model) for each in messages))


def _first_summary(wanted: Plan, cut: Cut | None) -> SummaryRequest | None:
    if cut is None:
        return None
    return summary_request(cut.older, cut.older_of_turn, wanted.strategy.prompt if wanted.strategy else None)


def _is_by_size(wanted: Plan) -> bool:
    return wanted.reason != "idle" or wanted.limit is not None


def reads_summary(execution: Execution) -> bool:
    """Whether what an execution reads begins with a summary."""
    transcript = execution.transcript
    begins = transcript.earlier if transcript.earlier.wire else transcript.current
    return begins.summarized


def given_up() -> AgentflowError:
    """Why a held call never went out."""
    return AgentflowError("The call was given up while it was held: the turn has ended.")
