"""The turn, performed: decide, record, perform, until it ends (T4-T12). The one place with effects.

Every way to an end - an answer, a limit, a failure, a stop - goes through `_end`, which writes the final state, the
terminal events and the release of the session in one transaction (T10).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from agentflow import clock, events
from agentflow.agent.config import Settings
from agentflow.clock import NewId
from agentflow.conversation.history import History, lean
from agentflow.conversation.repair import ABORTED_BY_USER, INTERRUPTED, close
from agentflow.errors import AgentflowError, ModelError, StaleOwner, StoreError
from agentflow.message import ExecutionStatus, Message, ToolCall, TurnState, text_of
from agentflow.models.assembly import Reply, settle_calls
from agentflow.models.protocol import ModelRequest
from agentflow.store import rows
from agentflow.store.protocol import Claimed, Owning, Store
from agentflow.store.rows import dumps
from agentflow.tools.calls import Prepared, execute
from agentflow.tools.context import FlowContext
from agentflow.tools.results import ToolResult
from agentflow.turn.cache import HistoryCache, Remembered
from agentflow.turn.decisions import CallModel, Fail, Finish, RunTools, after_reply, after_results, limit_reached
from agentflow.turn.execution import Execution
from agentflow.turn.feed import Feed
from agentflow.turn.journal import Journal
from agentflow.turn.loaded import LoadedAgent
from agentflow.turn.machine import LiveTurn, Trigger
from agentflow.turn.model_call import OpenStream, stream_reply
from agentflow.turn.result import TurnResult
from agentflow.turn.stop import Interrupt, Interrupted
from agentflow.turn.tool_batch import ToolBatch

_log = logging.getLogger("agentflow.turn")


@dataclass(frozen=True, slots=True)
class Outcome:
    """A turn's result, and the queued turn that began in the transaction that ended it (C21)."""

    result: TurnResult
    started: Claimed | None


@dataclass(frozen=True, slots=True)
class _Ending:
    """How a turn ends. `answer_id` is the message whose first `chars` characters (null: all) are the answer."""

    trigger: Trigger
    status: ExecutionStatus
    answer_id: str | None = None
    answer: str | None = None
    limit: str | None = None
    error: AgentflowError | None = None


class InternalError(AgentflowError):
    """A fault of agentflow itself; the log has the traceback."""

    code = "internal_error"


class TurnRunner:
    """Runs one claimed turn to its end, in a task of its own."""

    def __init__(
        self, store: Store, cache: HistoryCache, feed: Feed, agent: LoadedAgent, claimed: Claimed, session_id: str,
        new_id: NewId, next_owning: Callable[[], Owning | None],
    ) -> None:  # fmt: skip
        self.interrupt = Interrupt()
        self.turn_id = claimed.turn_id
        self._store = store
        self._cache = cache
        self._agent = agent
        self._claimed = claimed
        self._client = claimed.input.client.as_dict()
        self._new_id = new_id
        self._next_owning = next_owning
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
        loop = asyncio.get_running_loop()
        alarm = None
        if self.settings.turn_timeout_secs:
            alarm = loop.call_later(self.settings.turn_timeout_secs, self.interrupt.request, "timeout")
        try:
            execution = await self._prepare(loop.time())
            return await self._end(execution, await self._work(execution))
        finally:
            if alarm is not None:
                alarm.cancel()
            self._live.leave()

    async def _prepare(self, started: float) -> Execution:
        claimed, is_lean = self._claimed, self.settings.lean_history
        session_id = self._journal.session_id
        remembered = self._cache.take(session_id, claimed.key, claimed.previous_head, lean=is_lean)
        history = remembered.history if remembered else await self._load(is_lean)
        execution = Execution(self._journal, self._agent, claimed.execution, "", history)
        execution.known_blobs.update(remembered.blobs if remembered else ())
        execution.begin(started, claimed.messages, claimed.head_id)
        return execution

    async def _load(self, is_lean: bool) -> History:
        claimed = self._claimed
        path = await self._store.path(claimed.key, claimed.previous_head, lean_before=claimed.turn if is_lean else None)
        messages = [entry.message for entry in path]
        history = History()
        history.extend(lean(messages) if is_lean else messages)
        return history

    async def _work(self, execution: Execution) -> _Ending:
        try:
            execution.prompt = self._agent.render_prompt(
                self._claimed.input.inputs, {}, {"id": self._journal.session_id}
            )
            return await self._loop(execution)
        except Interrupted as interrupted:
            return self._interrupted(execution, interrupted)
        except (StaleOwner, StoreError):
            raise
        except AgentflowError as error:
            return self._failed(execution, error)
        except Exception as error:
            _log.exception("turn %s failed inside agentflow", self.turn_id)
            return self._failed(execution, InternalError(f"agentflow failed: {type(error).__name__}: {error}"))

    async def _loop(self, execution: Execution) -> _Ending:
        """Model call, reply, tools, results, again, until a decision ends it (T8)."""
        call_id = self._claimed.call_id
        decision: CallModel | RunTools | Finish | Fail = CallModel()
        while True:
            if isinstance(decision, Fail):
                return self._failed(execution, decision.error, decision.limit)
            if isinstance(decision, Finish):
                return self._finished(execution, decision)
            if call_id is None:
                raise RuntimeError("no model call was requested")
            limit = decision.limit if isinstance(decision, CallModel) else None
            reply, message, calls = await self._call_model(execution, call_id, limit)
            plan = after_reply(
                calls, reply.finish_reason or "", reply.text,
                enders=self._agent.enders, settings=self.settings, spent=execution.spent, limit=limit,
            )  # fmt: skip
            if not isinstance(plan, RunTools) or message is None:
                decision = plan
                continue
            decision, call_id = await self._run_tools(execution, plan, message, calls, limit)

    # -- one model call --------------------------------------------------------------------------------------------

    async def _call_model(
        self, execution: Execution, call_id: str, limit: str | None
    ) -> tuple[Reply, Message | None, tuple[ToolCall, ...]]:
        """Call the model and stage its reply. `limit`: the last call, without tools."""
        with_tools = limit is None and bool(self._agent.schemas)
        built = execution.request(with_tools=with_tools)
        stream = OpenStream(call_id, "main", built.chars, asyncio.get_running_loop().time())
        request = ModelRequest(
            call_id, "main", built.messages, self._agent.schemas if with_tools else (), built.chars,
            self._journal.session_id, self._claimed.turn,
        )  # fmt: skip
        execution.opened(stream)
        with self.interrupt.window():
            reply = await stream_reply(
                self._agent.model, request, stream, self._journal.feed, self.turn_id,
                lambda text: self._journal.commit([rows.CheckpointLlmCall(text, call_id)], []),
                timeout_secs=self.settings.llm_timeout_secs, retries=self.settings.llm_retries,
            )  # fmt: skip
        calls = settle_calls(
            reply.tool_calls, {call.id for m in execution.messages for call in m.tool_calls}, self._new_id
        )
        message = self._message(call_id, reply, calls)
        execution.reply_completed(reply, message, with_tools=with_tools)
        if message is not None and not calls:
            execution.remember(message)
        return reply, message, calls

    def _message(self, call_id: str, reply: Reply, calls: tuple[ToolCall, ...]) -> Message | None:
        """The reply as it is recorded; a reply that says nothing is no message (B37)."""
        text = reply.text if reply.text.strip() else None
        if text is None and not calls:
            return None
        provider = {"model": self._agent.model.name, **reply.provider} if reply.provider else None
        return Message(call_id, "assistant", text, calls, provider=provider)

    # -- the tools of one reply ------------------------------------------------------------------------------------

    async def _run_tools(
        self, execution: Execution, plan: RunTools, reply: Message, calls: tuple[ToolCall, ...], limit: str | None
    ) -> tuple[CallModel | Finish | Fail, str | None]:
        batch = ToolBatch(execution, plan, self._perform, self._new_id)
        batch.stage(plan, calls, reply.id)
        following: list[CallModel | Finish | Fail] = []
        call_id = self._new_id()

        def last() -> bool:
            execution.remember(reply, *batch.results)
            if batch.answer is not None:
                answer = Message(self._new_id(), "assistant", batch.answer)
                execution.record(answer)
                execution.remember(answer)
            decision = after_results(
                ended=batch.answer is not None, settings=self.settings, spent=execution.spent,
                usage=self._journal.usage, limit=limit,
            )  # fmt: skip
            following.append(decision)
            if isinstance(decision, CallModel):
                execution.request_call(call_id)
                return True
            return False

        await batch.run(self.interrupt, last)
        return following[0], call_id

    async def _perform(self, prepared: Prepared) -> ToolResult:
        return await execute(prepared, self._context(prepared.call))

    def _context(self, call: ToolCall) -> FlowContext:
        loop, journal = asyncio.get_running_loop(), self._journal

        def emit(name: str, data: Mapping[str, Any]) -> None:
            event = events.Event(
                journal.session_id, None, self.turn_id, clock.instant(), events.FLOW_EMITTED,
                {"call_id": call.id, "name": name, "data": dict(data)},
            )  # fmt: skip
            loop.call_soon_threadsafe(journal.feed.tell, event)

        return FlowContext(
            journal.session_id, self.turn_id, self._agent.config.name, call.id, self._claimed.input.inputs, {},
            self._client, logging.getLogger(f"agentflow.agent.{self._agent.config.name}"), emit,
        )  # fmt: skip

    # -- the ways to an end ----------------------------------------------------------------------------------------

    def _finished(self, execution: Execution, decision: Finish) -> _Ending:
        last = execution.messages[-1] if execution.messages else None
        if last is None or last.role != "assistant":
            return _Ending(Trigger.FINISH, ExecutionStatus.DONE, limit=decision.limit)
        answer = text_of(last.content) or None
        return _Ending(Trigger.FINISH, ExecutionStatus.DONE, last.id, answer, decision.limit)

    def _failed(self, execution: Execution, error: AgentflowError, limit: str | None = None) -> _Ending:
        """Close what is open and keep what was shown as the answer (T12)."""
        return self._closed(execution, error, limit, f"the turn failed ({error.code}).", None, Trigger.FAIL)

    def _interrupted(self, execution: Execution, interrupted: Interrupted) -> _Ending:
        """A stop keeps its marker and is no error (T24); a time limit is one."""
        if interrupted.reason == "timeout":
            allowed = self.settings.turn_timeout_secs
            return self._failed(execution, limit_reached("turn_timeout_secs", allowed), "turn_timeout_secs")
        why, marker = _INTERRUPTIONS[interrupted.reason]
        error = AgentflowError(f"The call was given up: {why}")
        return self._closed(execution, error, None, why, marker, Trigger.STOP)

    def _closed(
        self, execution: Execution, error: AgentflowError, limit: str | None, why: str, marker: str | None,
        trigger: Trigger,
    ) -> _Ending:  # fmt: skip
        stream, seen = execution.open_stream, ""
        if stream is not None:
            status = "errored" if isinstance(error, ModelError) else "aborted"
            seen = execution.reply_failed(error, status, with_tools=bool(self._agent.schemas))
        stopped = trigger is Trigger.STOP
        closing = close(tuple(execution.open_calls.values()), seen, why, marker=marker, always=stopped)
        execution.close_calls(closing, self._new_id)
        answer_id = None
        if closing.text is not None:
            answer_id = stream.call_id if stream is not None else self._new_id()
            execution.record(Message(answer_id, "assistant", closing.text))
        return _Ending(
            trigger, ExecutionStatus.ABORTED if stopped else ExecutionStatus.ERROR, answer_id,
            (closing.text or "")[: closing.answer_chars] or None, limit, None if stopped else error,
        )  # fmt: skip

    async def _end(self, execution: Execution, ending: _Ending) -> Outcome:
        journal, claimed = self._journal, self._claimed
        from_state, to_state = self._live.target(ending.trigger)
        usage, error = journal.usage, ending.error.as_dict() if ending.error else None
        cost = None if usage.cost is None else str(usage.cost)
        at = clock.instant()
        execution.ended(ending.status)
        execution.stage(
            rows.EndStep(
                to_state, at, execution.first_token_ms, ending.answer_id, len(ending.answer or ""), claimed.step
            ),
            rows.EndTurn(
                to_state, at, dumps(error) if error else None, ending.limit, usage.input, usage.output,
                usage.cache_read, usage.cache_write, cost, claimed.turn, from_state,
            ),
        )  # fmt: skip
        if error is not None:
            execution.tell(events.error(error))
        execution.tell(
            events.plain(events.STEP_COMPLETED, {"order": claimed.step, "state": to_state}),
            events.turn_completed(to_state, usage, error),
            events.done(self.turn_id, ending.answer, to_state, claimed.step, limit=ending.limit, failure=error),
        )
        erase = not self.settings.observability
        started = await execution.end(to_state, erase=erase, owning=self._next_owning())
        self._live.fire(ending.trigger)
        self._remember(execution)
        result = TurnResult(
            journal.session_id,
            self.turn_id,
            claimed.step,
            to_state,
            ending.answer,
            usage,
            limit=ending.limit,
            error=error,
            scripted=self._agent.model.scripted,
        )
        return Outcome(result, started)

    def _remember(self, execution: Execution) -> None:
        """Keep the history for the next turn; a turn that did not end by itself is read again from the store."""
        journal = self._journal
        if self._live.state != TurnState.DONE or not self.settings.observability:
            self._cache.forget(journal.session_id)
            return
        history, is_lean = execution.earlier, self.settings.lean_history
        history.extend(lean(execution.messages) if is_lean else execution.messages)
        blobs = frozenset(execution.known_blobs)
        self._cache.put(journal.session_id, Remembered(journal.session_key, journal.head, is_lean, history, blobs))


_INTERRUPTIONS = {
    "stop": ("the user stopped the turn.", ABORTED_BY_USER),
    "closing": ("the process running this turn was shut down.", INTERRUPTED),
}
