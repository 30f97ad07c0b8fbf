"""The turn, performed: decide, record, perform, until it ends (T4-T12). The one place with effects.

Every way to an end goes through `_end`, which writes the final state, the terminal events and the release of the
session in one transaction (T10).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from agentflow.agents.data_source import DataSource
from agentflow.agents.loaded_agent import LoadedAgent
from agentflow.clock import SECOND, NewId
from agentflow.config.agent_config import Settings
from agentflow.conversation.history import History, lean
from agentflow.errors import AgentflowError, InternalError, StaleOwner, StoreError
from agentflow.live.event_feed import Feed
from agentflow.live.history_cache import HistoryCache, Remembered
from agentflow.live.interrupt import Interrupt, Interrupted
from agentflow.message import TurnState
from agentflow.result import TurnResult
from agentflow.store.cause import cause_of
from agentflow.store.outcomes import Claimed
from agentflow.store.protocol import Store
from agentflow.store.requests import Owning
from agentflow.store.rows import changes
from agentflow.telemetry import shapes, spans
from agentflow.telemetry.spans import Around
from agentflow.turn import resume_delegated
from agentflow.turn.calls import limit_question
from agentflow.turn.decide.actions import Done, Fail
from agentflow.turn.loop import step_hooks
from agentflow.turn.loop.agent_run import AgentRun
from agentflow.turn.opening import Opening, first_words
from agentflow.turn.rules.decisions import AskLimit, Ended, Pause, limit_reached
from agentflow.turn.rules.machine import LiveTurn
from agentflow.turn.run import ending
from agentflow.turn.run.ending import Ending
from agentflow.turn.run.execution import Execution
from agentflow.turn.run.journal import Journal
from agentflow.turn.run.step import Step
from agentflow.turn.starting_history import StartingHistory
from agentflow.turn_table import Trigger

_log = logging.getLogger("agentflow.turn")


@dataclass(frozen=True, slots=True)
class Outcome:
    """A turn's result, the queued turn that began in the transaction that ended it (C21), and what the conversation
    began with, when it is to be named (R7).
    """

    result: TurnResult
    started: Claimed | None
    opening: Opening | None = None


class StepRunner:
    """Runs one claimed step of a turn to its end, in a task of its own."""

    def __init__(
        self, store: Store, cache: HistoryCache, feed: Feed, agent: LoadedAgent, claimed: Claimed, session_id: str,
        new_id: NewId, next_owning: Callable[[], Callable[[], Owning] | None], load_agent: Callable[[str], LoadedAgent],
        source: DataSource,
    ) -> None:  # fmt: skip
        self.interrupt = Interrupt()
        self.turn_id = claimed.turn_id
        self._store = store
        self._cache = cache
        self._agent = agent
        self._claimed = claimed
        self._new_id = new_id
        self._next_owning = next_owning
        self._step = Step(store, claimed, self.interrupt, new_id, load_agent, source)
        self.settled = self._step.settled
        self._journal = Journal(store, feed, session_id, claimed, self.interrupt)
        self._live = LiveTurn(claimed.turn_id, TurnState.RUNNING)

    @property
    def settings(self) -> Settings:
        return self._agent.config.settings

    async def run(self) -> Outcome:
        """Run to the end of this step.

        Raises `StaleOwner` when another process took the session, `StoreError` when the database is away: then
        nothing more is written, and the next request repairs what is left.
        """
        claimed, name = self._claimed, self._agent.config.name
        session_id, environment = self._journal.session_id, self._step.source.environment
        shape = partial(shapes.turn, name, session_id, self.turn_id, environment, resumed=claimed.resumed)
        with spans.span(shape, follows=claimed.traceparent) as span:
            return await self._run(span)

    async def _run(self, span: Around) -> Outcome:
        loop = asyncio.get_running_loop()
        alarm = None
        if self.settings.turn_timeout_secs:
            left = self.settings.turn_timeout_secs - self._claimed.worked / SECOND
            alarm = loop.call_later(max(left, 0), self.interrupt.request, "timeout")
        try:
            execution, how = await self._prepared(loop.time())
            execution.in_flight.wait(None if how else self._claimed.call_id, self._agent.model.name)
            return await self._end(execution, how or await self._step_of(execution), span)
        finally:
            if alarm is not None:
                alarm.cancel()
            self._live.leave()

    # -- the history this step starts from -------------------------------------------------------------------------

    async def _prepared(self, started: float) -> tuple[Execution, Ending | None]:
        """The execution; with a history that cannot be read the turn fails, and the session goes on."""
        history = StartingHistory(self._step, self._journal, self._cache, self._agent)
        try:
            return await history.execution(started), None
        except StaleOwner:
            raise
        except Exception as error:
            failure = await self._failure(error)
            execution = history.execution_of(started, History(self._agent.model.name), None)
            execution.in_flight.wait(self._claimed.call_id, self._agent.model.name)
            return execution, ending.fail(execution, failure, None, self._new_id)

    async def _failure(self, error: Exception) -> AgentflowError:
        """What the turn fails with: an error of ours, the damaged row that it comes of, or a fault.

        Raises `StoreError` where the database is away: then nothing can be written of it.
        """
        told = await cause_of(error, self._store, self._journal.session_id)
        if told is error and isinstance(error, StoreError):
            raise error
        if isinstance(told, AgentflowError):
            if told is not error:
                _log.error("turn %s cannot go on: %s", self.turn_id, told)
            return told
        _log.error("turn %s failed inside agentflow", self.turn_id, exc_info=error)
        return InternalError(f"agentflow failed: {type(error).__name__}: {error}")

    # -- the loop --------------------------------------------------------------------------------------------------

    async def _step_of(self, execution: Execution) -> Ending:
        journal, name = self._journal, self._agent.config.name
        with spans.span(lambda: shapes.run(name, journal.session_id, journal.step, execution.number)) as span:
            how = await self._work(execution)
            self._tell(span, how)
            return how

    async def _work(self, execution: Execution) -> Ending:
        try:
            if self._claimed.answer is not None and self._agent.worker is None:
                return ending.answered(self._claimed.answer)
            if self._claimed.answer is None:
                await step_hooks.start(self._step, execution)
            execution.render_prompt(self._claimed.inputs)
            run = AgentRun(self._step, execution, self._claimed.inputs)
            if self._claimed.resumed and self._claimed.asking != self._claimed.execution:
                ended = await resume_delegated.go_on(self._step, run, execution)
            else:
                ended = await run.begin()
            return self._ending(execution, await run.finish(ended))
        except Interrupted as interrupted:
            if interrupted.reason != "timeout":
                return ending.interrupt(execution, interrupted.reason, self._new_id)
            name = "turn_timeout_secs"
            return ending.fail(execution, limit_reached(name, self.settings.turn_timeout_secs), name, self._new_id)
        except StaleOwner:
            raise
        except Exception as error:
            return ending.fail(execution, await self._failure(error), None, self._new_id)

    def _ending(self, execution: Execution, decision: Ended) -> Ending:
        match decision:
            case Done():
                return ending.finish(execution, decision, self._claimed.answer)
            case Fail():
                return ending.fail(execution, decision.error, decision.limit, self._new_id)
            case Pause():
                return ending.pause(execution, decision)
            case AskLimit():
                asked = limit_question.ask_about_limit(execution, decision.limit, self.settings, self._new_id)
                return ending.pause(execution, asked)

    # -- the end ---------------------------------------------------------------------------------------------------

    async def _end(self, execution: Execution, how: Ending, span: Around) -> Outcome:
        journal = self._journal
        _, to_state = move = self._live.target(how.trigger)
        owning, answer_id, answer = self._next_owning(), how.answer_id, how.answer
        self._tell(span, how)
        span.say(lambda: {"agentflow.turn.state": str(to_state)})
        if how.awaited is not None and self._claimed.traceparent is None and (name := span.traceparent()) is not None:
            execution.staging.add(changes.KeepTraceparent(name, journal.turn))
        if how.close is None:
            ending.stage(execution, how, move)
            started = await execution.end(to_state, owning=owning)
        else:
            closed, started = await execution.close(how.close, self._new_id, owning=owning)
            answer_id, answer = closed.answer_id, closed.answer
        self._live.fire(how.trigger)
        level = logging.WARNING if to_state == TurnState.FAILED else logging.DEBUG
        self._agent.logger.log(
            level, "turn %s of session %s is %s", self.turn_id, journal.session_id, to_state,
            extra={"turn_state": str(to_state)},
        )  # fmt: skip
        opening = self._opening(execution, to_state, answer)
        self._remember(execution)
        awaited = how.awaited
        question = None if awaited is None else awaited.question()
        result = TurnResult(
            journal.session_id, self.turn_id, journal.step, str(to_state), answer, journal.usage, question,
            how.limit, None if how.error is None else how.error.as_dict(), self._agent.model.scripted,
            None if answer is None else answer_id,
            truncated=journal.is_cut and to_state == TurnState.DONE,
            data=how.data,
            pending_kind=None if awaited is None else awaited.kind,
            calls=() if awaited is None else awaited.call_dicts(),
        )  # fmt: skip
        return Outcome(result, started, opening)

    def _tell(self, span: Around, how: Ending) -> None:
        """A pause is a good end of a span; what goes on after it is one of its own (R12)."""
        if how.error is not None:
            span.fail(how.error.code, how.error.message)
        elif how.trigger is Trigger.STOP:
            span.fail(self.interrupt.reason or "stop", "The turn was interrupted.")

    def _opening(self, execution: Execution, state: TurnState, answer: str | None) -> Opening | None:
        """Null unless the turn is done with a text and its session awaits a name."""
        claimed = self._claimed
        if not (claimed.awaits_name and self.settings.name_chats and state == TurnState.DONE and answer):
            return None
        words = first_words(execution.transcript, answer)
        return words and Opening(self._journal.session_id, claimed.key, claimed.turn, claimed.step, *words)

    def _remember(self, execution: Execution) -> None:
        """Keep the history for the next turn; what did not run through in one step is read again from the store."""
        journal = self._journal
        transcript, is_lean = execution.transcript, self._step.reads_lean(self.settings)
        reads_as_next = is_lean == self.settings.lean_history and not self._claimed.resumed
        if self._live.state != TurnState.DONE or not self.settings.observability or not reads_as_next:
            self._cache.forget(journal.session_id)
            return
        transcript.earlier.extend(lean(transcript.messages) if is_lean else transcript.messages)
        blobs = frozenset(execution.staging.blobs)
        self._cache.put(
            journal.session_id,
            Remembered(journal.session_key, execution.place, is_lean, transcript.earlier, blobs, transcript.report),
        )
