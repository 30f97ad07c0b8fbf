"""The turn, performed: decide, record, perform, until it ends (T4-T12). The one place with effects.

Every way to an end goes through `_end`, which writes the final state, the terminal events and the release of the
session in one transaction (T10).
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
from agentflow.conversation.questions import Question, check_questions
from agentflow.errors import AgentflowError, StaleOwner, StoreError
from agentflow.message import Message, ToolCall, TurnState
from agentflow.models.assembly import Reply, settle_calls
from agentflow.models.protocol import ModelRequest
from agentflow.store import rows
from agentflow.store.protocol import Claimed, Owning, PathEntry, Store
from agentflow.tools.calls import Prepared, execute
from agentflow.tools.context import FlowContext
from agentflow.tools.results import ToolResult
from agentflow.turn import ask_user, ending
from agentflow.turn.cache import HistoryCache, Remembered
from agentflow.turn.decisions import (
    AskLimit,
    CallModel,
    Fail,
    Finish,
    Pause,
    RunTools,
    after_reply,
    after_results,
    limit_reached,
)
from agentflow.turn.ending import Ending
from agentflow.turn.execution import Execution
from agentflow.turn.feed import Feed
from agentflow.turn.journal import Journal
from agentflow.turn.loaded import LoadedAgent
from agentflow.turn.machine import LiveTurn
from agentflow.turn.model_call import OpenStream, stream_reply
from agentflow.turn.result import TurnResult
from agentflow.turn.stop import Interrupt, Interrupted
from agentflow.turn.tool_batch import ToolBatch

_log = logging.getLogger("agentflow.turn")

Next = CallModel | Pause | AskLimit | Finish | Fail


@dataclass(frozen=True, slots=True)
class Outcome:
    """A turn's result, and the queued turn that began in the transaction that ended it (C21)."""

    result: TurnResult
    started: Claimed | None


class InternalError(AgentflowError):
    """A fault of agentflow itself; the log has the traceback."""

    code = "internal_error"


class TurnRunner:
    """Runs one claimed step of a turn to its end, in a task of its own."""

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
        self._new_id = new_id
        self._next_owning = next_owning
        self._journal = Journal(store, feed, session_id, claimed, self.interrupt)
        self._live = LiveTurn(claimed.turn_id, TurnState.RUNNING)
        self._asked: tuple[Question, ...] = ()

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

    # -- the history this step starts from -------------------------------------------------------------------------

    async def _prepare(self, started: float) -> Execution:
        claimed = self._claimed
        if claimed.resumed:
            return await self._resume(started)
        is_lean = self.settings.lean_history
        remembered = self._cache.take(self._journal.session_id, claimed.key, claimed.previous_head, lean=is_lean)
        history = remembered.history if remembered else await self._load(is_lean)
        execution = Execution(self._journal, self._agent, claimed.execution, history)
        execution.known_blobs.update(remembered.blobs if remembered else ())
        execution.begin(started, claimed.messages, claimed.head_id)
        return execution

    async def _load(self, is_lean: bool) -> History:
        claimed = self._claimed
        path = await self._path(claimed.turn if is_lean else None)
        messages = [entry.message for entry in path if entry.message.id not in {m.id for m in claimed.messages}]
        history = History()
        history.extend(lean(messages) if is_lean else messages)
        return history

    async def _resume(self, started: float) -> Execution:
        """A resumed step reads the full history, its own turn with what its provider gave (X2, T15)."""
        claimed = self._claimed
        path = await self._path(None)
        first = next(index for index, entry in enumerate(path) if entry.turn == claimed.turn)
        history = History()
        history.extend(entry.message for entry in path[:first])
        execution = Execution(self._journal, self._agent, claimed.execution, history)
        execution.begin(started, tuple(entry.message for entry in path[first:]), claimed.head_id)
        return execution

    async def _path(self, lean_before: int | None) -> list[PathEntry]:
        return await self._store.path(self._claimed.key, self._claimed.head, lean_before=lean_before)

    # -- the loop --------------------------------------------------------------------------------------------------

    async def _work(self, execution: Execution) -> Ending:
        try:
            session = {"id": self._journal.session_id}
            execution.prompt = self._agent.render_prompt(self._claimed.inputs, {}, session)
            return await self._loop(execution)
        except Interrupted as interrupted:
            if interrupted.reason != "timeout":
                return ending.interrupt(execution, interrupted.reason, self._new_id)
            name = "turn_timeout_secs"
            return ending.fail(execution, limit_reached(name, self.settings.turn_timeout_secs), name, self._new_id)
        except (StaleOwner, StoreError):
            raise
        except AgentflowError as error:
            return ending.fail(execution, error, None, self._new_id)
        except Exception as error:
            _log.exception("turn %s failed inside agentflow", self.turn_id)
            internal = InternalError(f"agentflow failed: {type(error).__name__}: {error}")
            return ending.fail(execution, internal, None, self._new_id)

    async def _loop(self, execution: Execution) -> Ending:
        """Model call, reply, tools, results, again, until a decision ends the step (T8)."""
        call_id = self._claimed.call_id or self._new_id()
        following: Next = CallModel(ask_user.refused_limit(self._claimed))
        while isinstance(following, CallModel):
            reply, message, calls = await self._call_model(execution, call_id, following.limit)
            plan = after_reply(
                calls, reply.finish_reason or "", reply.text, enders=self._agent.enders, settings=self.settings,
                spent=execution.spent, limit=following.limit,
            )  # fmt: skip
            if not isinstance(plan, RunTools) or message is None:
                following = plan if isinstance(plan, Fail | Finish) else Finish(following.limit)
                continue
            call_id = self._new_id()
            following = await self._run_tools(execution, plan, message, calls, following.limit, call_id)
        return self._ending(execution, following)

    def _ending(self, execution: Execution, decision: Pause | AskLimit | Finish | Fail) -> Ending:
        match decision:
            case Finish():
                return ending.finish(execution, decision.limit)
            case Fail():
                return ending.fail(execution, decision.error, decision.limit, self._new_id)
            case Pause():
                return ending.pause(execution, decision.call_id, self._asked, self.settings.ask_user_expiry_secs)
            case AskLimit():
                call_id, questions = ask_user.ask_about_limit(execution, decision.limit, self.settings, self._new_id)
                return ending.pause(execution, call_id, questions, self.settings.ask_user_expiry_secs)

    async def _call_model(
        self, execution: Execution, call_id: str, limit: str | None
    ) -> tuple[Reply, Message | None, tuple[ToolCall, ...]]:
        """Call the model and stage its reply. `limit`: the last call, without tools."""
        with_tools = limit is None and bool(self._agent.schemas)
        built = execution.request(with_tools=with_tools)
        stream = OpenStream(call_id, "main", built.chars, asyncio.get_running_loop().time(), with_tools)
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
        taken = {call.id for message in execution.messages for call in message.tool_calls}
        calls = settle_calls(reply.tool_calls, taken, self._new_id)
        message = self._message(call_id, reply, calls)
        execution.reply_completed(reply, message)
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

    async def _run_tools(
        self, execution: Execution, plan: RunTools, reply: Message, calls: tuple[ToolCall, ...], limit: str | None,
        next_call_id: str,
    ) -> Next:  # fmt: skip
        batch = ToolBatch(execution, plan, self._perform, self._new_id)
        batch.stage(plan, calls, reply.id)
        following: list[Next] = []

        def last() -> bool:
            if batch.asked is None:
                execution.remember(reply, *batch.results)
            else:
                checked = check_questions(batch.asked.arguments)
                self._asked = checked if isinstance(checked, tuple) else ()
            if batch.answer is not None:
                answer = Message(self._new_id(), "assistant", batch.answer)
                execution.record(answer)
                execution.remember(answer)
            decision = after_results(
                asked=batch.asked.call.id if batch.asked else None, ended=batch.answer is not None,
                settings=self.settings, spent=execution.spent, usage=self._journal.usage, limit=limit,
            )  # fmt: skip
            following.append(decision)
            if isinstance(decision, CallModel):
                execution.request_call(next_call_id)
            return isinstance(decision, CallModel)

        await batch.run(self.interrupt, last)
        return following[0]

    async def _perform(self, prepared: Prepared) -> ToolResult:
        return await execute(prepared, self._context(prepared.call))

    def _context(self, call: ToolCall) -> FlowContext:
        loop, journal = asyncio.get_running_loop(), self._journal

        def emit(name: str, data: Mapping[str, Any]) -> None:
            said = {"call_id": call.id, "name": name, "data": dict(data)}
            event = events.Event(journal.session_id, None, self.turn_id, clock.instant(), events.FLOW_EMITTED, said)
            loop.call_soon_threadsafe(journal.feed.tell, event)

        return FlowContext(
            journal.session_id, self.turn_id, self._agent.config.name, call.id, self._claimed.inputs, {},
            self._claimed.client, logging.getLogger(f"agentflow.agent.{self._agent.config.name}"), emit,
        )  # fmt: skip

    # -- the end ---------------------------------------------------------------------------------------------------

    async def _end(self, execution: Execution, how: Ending) -> Outcome:
        journal = self._journal
        _, to_state = move = self._live.target(how.trigger)
        ending.stage(execution, how, move)
        erase = not self.settings.observability and to_state != TurnState.PAUSED_ASK_USER
        started = await execution.end(to_state, erase=erase, owning=self._next_owning())
        self._live.fire(how.trigger)
        self._remember(execution)
        result = TurnResult(
            journal.session_id, self.turn_id, journal.step, to_state, how.answer, journal.usage, how.question,
            how.limit, None if how.error is None else how.error.as_dict(), self._agent.model.scripted,
        )  # fmt: skip
        return Outcome(result, started)

    def _remember(self, execution: Execution) -> None:
        """Keep the history for the next turn; what did not run through in one step is read again from the store."""
        journal = self._journal
        if self._live.state != TurnState.DONE or not self.settings.observability or self._claimed.resumed:
            self._cache.forget(journal.session_id)
            return
        history, is_lean = execution.earlier, self.settings.lean_history
        history.extend(lean(execution.messages) if is_lean else execution.messages)
        blobs = frozenset(execution.known_blobs)
        self._cache.put(journal.session_id, Remembered(journal.session_key, journal.head, is_lean, history, blobs))
