"""Making room before model calls: the effects of what `context` decides (X7-X17).

A call that would read too much is held: it is recorded as requested and waits. `context.limited` opens the phase;
`context.replaced` or `context.kept` closes it, and a model call in between is the summary. Then the held call goes
out, whatever came of it. Whatever fails in here leaves the history as it was: fail open, no loop.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from agentflow import clock, events
from agentflow.context.compaction import Cut, KeptReason, Reading, keep_recent, make_room, refusal
from agentflow.context.strategies import (
    Plan,
    idle_seconds,
    overflow_plan,
    plan,
    settings_due,
    settings_plan,
)
from agentflow.context.summary import SummaryRequest, summary_request
from agentflow.context.tokens import reported
from agentflow.conversation.history import BuiltRequest
from agentflow.errors import AgentflowError, ModelError
from agentflow.live.interrupt import Interrupted
from agentflow.message import Usage
from agentflow.store import rows
from agentflow.store.records import AGENT, STATE, PathEntry
from agentflow.text import compact_json
from agentflow.turn.calls.side_call import SideCall, ask_aside
from agentflow.turn.loop.replace_history import (
    Replacement,
    keep_history,
    replace_history,
    restate_todos,
    tokens_now,
)
from agentflow.turn.run import model_calls
from agentflow.turn.run.execution import Execution
from agentflow.turn.run.step import Step

_log = logging.getLogger("agentflow.turn")

CutBy = Callable[[Reading], Cut | None]


@dataclass(frozen=True, slots=True)
class Held:
    """A call that waits for room, and what is proposed for it (X12, X13).

    `call_id` is null when the turn's first call is not recorded yet. Without a `cut` there is nothing to make room
    with; `path` is what it was cut from. `with_tools`: the call offers its tools.
    """

    call_id: str | None
    plan: Plan
    path: tuple[PathEntry, ...]
    reading: Reading
    cut: Cut | None
    with_tools: bool


@dataclass(frozen=True, slots=True)
class Written:
    """What a summary call came to: its text, or why the history is kept. A reset has neither, nor a call."""

    kept: KeptReason | None
    text: str | None = None
    call_id: str | None = None
    usage: Usage = field(default_factory=Usage)


class Room:
    """Makes room for one execution. What was tried so far is kept by the execution, so there may be many of these."""

    def __init__(self, step: Step, execution: Execution) -> None:
        self._step = step
        self._execution = execution
        self._tried = execution.tried
        self._is_main = execution.number == step.claimed.execution
        self._resumed = step.claimed.resumed

    async def start(self) -> None:
        """Compact by `settings`, before the first model call of a turn (X7, T6)."""
        settings, report = self._execution.agent.config.settings, self._execution.transcript.report
        fraction, window = settings.compaction_threshold_fraction, settings.compaction_context_window_tokens
        if report is None or not settings_due(report, fraction, window, resumed=self._resumed):
            return
        wanted = settings_plan(report, fraction, window)
        keep = settings.compaction_keep_recent_messages
        call_id = self._step.claimed.call_id
        await self._phase(call_id, wanted, lambda reading: keep_recent(reading, keep), with_tools=True)

    async def before(self, call_id: str, *, with_tools: bool) -> None:
        """Hold a call of the loop when a strategy applies, and let it go when room is made or cannot be (X11)."""
        if self._tried.is_first and self._resumed and reads_summary(self._execution):
            restate_todos(self._execution)
        wanted = self._wanted(with_tools)
        if wanted is not None:
            await self._phase(call_id, wanted, lambda reading: make_room(wanted, reading), with_tools=with_tools)
        self._tried.since_last_call = False

    async def after_refusal(self, call_id: str, *, with_tools: bool) -> None:
        """The provider refused a call of the loop as too long: make room, so that it can run once more (X16)."""
        tokens = tokens_now(self._execution, with_tools=with_tools)
        wanted = overflow_plan(self._execution.agent.context, tokens=tokens)
        await self._phase(call_id, wanted, lambda reading: make_room(wanted, reading), with_tools=with_tools)
        self._tried.since_last_call = False

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

    async def _phase(self, call_id: str | None, wanted: Plan, cut_by: CutBy, *, with_tools: bool) -> None:
        """From `context.limited` to what closes it, also when the turn ends in between (X20)."""
        try:
            held = await self._hold(call_id, wanted, cut_by, with_tools=with_tools)
            if held.cut is not None or wanted.strategy is not None or wanted.reason == "overflow":
                self._tried.since_last_call = self._tried.since_last_call or _is_by_size(wanted)
                await self._settle(held)
            else:  # of `settings`: an attempt that costs nothing leaves the strategies their own
                keep_history(self._execution, "nothing_to_summarize")
        except BaseException as error:
            keep_history(self._execution, "interrupted" if isinstance(error, Interrupted) else "failed")
            if call_id is not None:
                model_calls.give_up(self._execution, call_id, given_up())
            raise

    async def _hold(self, call_id: str | None, wanted: Plan, cut_by: CutBy, *, with_tools: bool) -> Held:
        """Read the path as it is recorded and cut it; `context.limited` rides on the next commit."""
        execution = self._execution
        if execution.staging:
            await execution.commit()
        path = tuple(await self._step.store.path(execution.journal.session_key, execution.place, lean_before=None))
        strategy = None if wanted.strategy is None else wanted.strategy.use
        execution.staging.tell(events.context_limited(call_id, wanted.reason, strategy, wanted.tokens, wanted.window))
        execution.tried.limited = wanted.tokens
        chars = execution.request(with_tools=with_tools).chars
        reading = Reading(
            [entry.message for entry in path],
            turn_from=len(path) - len(execution.transcript.messages),
            lean=self._step.reads_lean(execution.agent.config.settings),
            fixed_chars=chars - execution.transcript.chars,
            model=execution.agent.model.name,
        )
        return Held(call_id, wanted, path, reading, cut_by(reading), with_tools)

    async def _settle(self, held: Held) -> None:
        """Do as planned; whatever comes of it, the call may go out then."""
        await self._conclude(held, await self._summary(held))

    async def _conclude(self, held: Held, written: Written) -> None:
        if written.kept is None and held.cut is not None:
            await self._replace(held, held.cut, written.text)
            return
        keep_history(self._execution, written.kept or "nothing_to_summarize")
        self._tried.gave_up = self._tried.gave_up or _is_by_size(held.plan)

    async def _summary(self, held: Held) -> Written:
        """The accepted summary, or why the history stays as it is; a reset has neither (X9, X13)."""
        if held.cut is None:
            return Written("nothing_to_summarize")
        if held.plan.use == "reset":
            return Written(None)
        call_id = None
        strategy = held.plan.strategy
        request: SummaryRequest | None = summary_request(
            held.cut.older, held.cut.older_of_turn, strategy.prompt if strategy is not None else None
        )
        while request is not None:
            call = self._side_call(held, request)
            call_id = call.id
            try:
                reply = await ask_aside(self._step, self._execution, call)
            except ModelError as error:
                _log.warning("session %s: the summary call failed: %s", self._execution.journal.session_id, error)
                request = request.shorter() if error.kind == "context_overflow" else None
                continue
            kept = refusal(held.cut, reply.text, reply.finish_reason)
            return Written(kept, reply.text, call_id, reply.usage or Usage())
        return Written("failed", None, call_id)

    def _side_call(self, held: Held, request: SummaryRequest) -> SideCall:
        model = self._execution.agent.summary_model(held.plan.strategy)
        built = BuiltRequest(request.messages, request.chars)
        return SideCall(self._step.new_id(), "summary", model, built, request.prompt)

    async def _in_force(self) -> list[tuple[int, str, Any]]:
        """State and configuration to write again at the new head (X18); a worker's decisions do that themselves."""
        execution = self._execution
        if execution.carry_over is not None:
            execution.carry_over()
        if execution.carry_over is not None or execution.parent is not None:
            return []
        versions = await self._step.store.versions(execution.journal.session_key, execution.place)
        kept = [(STATE, versions.state), (AGENT, versions.agent or None)]
        return [
            (versions.last + index, kind, value)
            for index, (kind, value) in enumerate(((k, v) for k, v in kept if v is not None), 1)
        ]

    async def _replace(self, held: Held, cut: Cut, summary: str | None) -> None:
        replacement = Replacement.of_cut(held.path, held.reading, cut, summary)
        in_force = await self._in_force()
        after = replace_history(
            self._execution, replacement, held.call_id, self._step.new_id, with_tools=held.with_tools
        )
        branch, depth = self._execution.place or (None, None)
        for number, kind, value in in_force:
            turn = self._execution.journal.turn
            self._execution.staging.add(rows.InsertStateVersion(number, kind, compact_json(value), turn, branch, depth))
        await self._execution.commit()
        by_density = held.plan.tokens * after // max(cut.tokens_before, 1)  # the provider's tokens may be smaller
        self._tried.promised = held.plan.limit
        if not held.plan.helped(max(after, by_density)):
            self._tried.gave_up = True
            _log.warning(
                "session %s: room was made and %d tokens are still more than %d; the prompt, the tools and the newest "
                "messages leave no more to gain, so this turn goes on as it is",
                self._execution.journal.session_id, max(after, by_density), held.plan.limit,
            )  # fmt: skip


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
