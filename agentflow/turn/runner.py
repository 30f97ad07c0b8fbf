"""The turn, performed: decide, record, perform, until it ends (T4-T12). The one place with effects.

Every way to an end goes through `_end`, which writes the final state, the terminal events and the release of the
session in one transaction (T10).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass

from agentflow.agent.config import Settings
from agentflow.clock import SECOND, NewId
from agentflow.context.summary import is_summary
from agentflow.context.tokens import Report
from agentflow.conversation.history import History, lean
from agentflow.conversation.tree import Place
from agentflow.errors import AgentflowError, StaleOwner, StoreError
from agentflow.message import Message, TurnState
from agentflow.store.protocol import Claimed, Owning, PathEntry, Store
from agentflow.turn import ask_user, ending, handed_over, step_hooks
from agentflow.turn.cache import HistoryCache, Remembered
from agentflow.turn.decisions import AskLimit, Fail, Finish, Pause, limit_reached
from agentflow.turn.ending import Ending
from agentflow.turn.execution import Execution
from agentflow.turn.feed import Feed
from agentflow.turn.journal import Journal
from agentflow.turn.loaded import LoadedAgent
from agentflow.turn.loop import Ended
from agentflow.turn.machine import LiveTurn
from agentflow.turn.planner import Planner, take_back
from agentflow.turn.result import TurnResult
from agentflow.turn.room import Room
from agentflow.turn.stop import Interrupt, Interrupted
from agentflow.turn.surroundings import Surroundings
from agentflow.turn.worker_loop import loop_of

_log = logging.getLogger("agentflow.turn")


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
        new_id: NewId, next_owning: Callable[[], Callable[[], Owning] | None], load_agent: Callable[[str], LoadedAgent],
    ) -> None:  # fmt: skip
        self.interrupt = Interrupt()
        self.turn_id = claimed.turn_id
        self._store = store
        self._cache = cache
        self._agent = agent
        self._claimed = claimed
        self._new_id = new_id
        self._next_owning = next_owning
        self._surroundings = Surroundings(store, claimed, self.interrupt, new_id, load_agent)
        self.settled = self._surroundings.settled
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
            left = self.settings.turn_timeout_secs - self._claimed.worked / SECOND
            alarm = loop.call_later(max(left, 0), self.interrupt.request, "timeout")
        try:
            execution, how = await self._prepared(loop.time())
            execution.waiting_call = None if how else self._claimed.call_id
            return await self._end(execution, how or await self._work(execution))
        finally:
            if alarm is not None:
                alarm.cancel()
            self._live.leave()

    # -- the history this step starts from -------------------------------------------------------------------------

    async def _prepared(self, started: float) -> tuple[Execution, Ending | None]:
        """The execution; with a history that cannot be read the turn fails, and the session goes on."""
        try:
            return await self._prepare(started), None
        except (StaleOwner, StoreError):
            raise
        except Exception as error:
            _log.exception("the history of turn %s cannot be read", self.turn_id)
            execution = Execution(self._journal, self._agent, self._claimed.execution, History())
            execution.begin(started, (), self._claimed.head_id)
            execution.waiting_call = self._claimed.call_id
            return execution, ending.fail(execution, _internal(error), None, self._new_id)

    async def _prepare(self, started: float) -> Execution:
        claimed = self._claimed
        if claimed.resumed:
            return await self._resume(started)
        if claimed.messages and claimed.messages[0].role == "tool":
            return await self._complete(started)
        if not claimed.messages and claimed.answer is None:
            return await self._answer_anew(started)
        is_lean = self.settings.lean_history
        remembered = self._cache.take(self._journal.session_id, claimed.key, claimed.previous_head, lean=is_lean)
        history = remembered.history if remembered else await self._load(is_lean)
        execution = Execution(self._journal, self._agent, claimed.execution, history)
        execution.known_blobs.update(remembered.blobs if remembered else ())
        execution.report = remembered.report if remembered else await self._report(claimed.previous_head)
        execution.begin(started, claimed.messages, claimed.head_id)
        return execution

    async def _load(self, is_lean: bool) -> History:
        claimed = self._claimed
        path = await self._path(claimed.previous_head, claimed.turn if is_lean else None)
        messages = [entry.message for entry in path]
        history = History()
        history.extend(lean(messages) if is_lean else messages)
        return history

    async def _complete(self, started: float) -> Execution:
        """The input completes an exchange that the path left open, so that exchange belongs to this step (C16)."""
        claimed = self._claimed
        path = await self._path(claimed.head, None)
        first = len(path) - len(claimed.messages)
        while first and path[first].message.role == "tool":
            first -= 1
        return await self._from_path(started, path, _asked_from(path[:first]))

    async def _answer_anew(self, started: float) -> Execution:
        """The input adds nothing: what the path ends with is answered once more (C13)."""
        head = self._claimed.head
        path = await self._path(head, self._claimed.turn if self.settings.lean_history else None)
        if not path or path[-1].place != head:  # it ends in results, which a lean reading leaves out
            path = await self._path(head, None)
        return await self._from_path(started, path, _asked_from(path))

    async def _from_path(self, started: float, path: list[PathEntry], first: int) -> Execution:
        """An execution whose current turn begins at index `first` of the path."""
        claimed, messages = self._claimed, [entry.message for entry in path]
        history = History()
        history.extend(lean(messages[:first]) if self.settings.lean_history else messages[:first])
        execution = Execution(self._journal, self._agent, claimed.execution, history)
        execution.report = await self._report(claimed.head)
        execution.begin(started, tuple(messages[first:]), claimed.head_id)
        return execution

    async def _resume(self, started: float) -> Execution:
        """A resumed step reads the full history, its own turn with what its provider gave (X2, T15)."""
        claimed = self._claimed
        path = await self._path(claimed.head, None)
        begins = (index for index, entry in enumerate(path) if entry.turn == claimed.turn)
        first = next(index for index in begins if index or not is_summary(path[0].message))
        if path[first].message.role == "assistant":  # a turn that brought no message of its own
            first = _asked_from(path[:first])
        history = History()
        history.extend(entry.message for entry in path[:first])
        execution = Execution(self._journal, self._agent, claimed.execution, history)
        execution.report = await self._report(claimed.head)
        execution.begin(started, (), claimed.head_id)
        execution.take_up([entry.message for entry in path[first:]])
        execution.spent.before = ask_user.granted(claimed)
        await take_back(self._surroundings, execution)
        execution.current.reserve(await self._store.call_ids(claimed.key, claimed.execution))
        return execution

    async def _report(self, head: Place | None) -> Report | None:
        return await self._store.report(self._claimed.key, head, self._claimed.execution)

    async def _path(self, head: Place | None, lean_before: int | None) -> list[PathEntry]:
        return await self._store.path(self._claimed.key, head, lean_before=lean_before)

    # -- the loop --------------------------------------------------------------------------------------------------

    async def _work(self, execution: Execution) -> Ending:
        try:
            if self._claimed.answer is not None and self._agent.worker is None:
                return ending.answered(self._claimed.answer)
            if self._claimed.answer is None:
                await step_hooks.start(self._surroundings, execution)
            session = {"id": self._journal.session_id}
            execution.prompt = self._agent.render_prompt(self._claimed.inputs, execution.vars, session)
            if self._claimed.resumed and self._claimed.asking != self._claimed.execution:
                ended: Ended | None
                loop, ended = await handed_over.go_on(self._surroundings, execution)
            else:
                loop = loop_of(self._surroundings, execution)
                ended = await loop.begin()
            if ended is None and self._claimed.answer is not None:
                return ending.answered(self._claimed.answer)
            if ended is None:
                await Room(self._surroundings, execution).start()
                planner = Planner(self._surroundings, execution)
                if (paused := await planner.run()) is not None:
                    return self._ending(execution, paused)
                ended = await loop.run(await self._first_call(execution), ask_user.refused_limit(self._claimed))
            while isinstance(ended, Finish) and (text := await step_hooks.end(self._surroundings, execution, ended)):
                ended = await loop.run(await step_hooks.go_on(self._surroundings, execution, text))
            return self._ending(execution, await loop.finish(ended))
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
            return ending.fail(execution, _internal(error), None, self._new_id)

    async def _first_call(self, execution: Execution) -> str:
        """The first model call, recorded as requested by the claim, or now when something came before it (T11)."""
        if self._claimed.call_id is not None:
            return self._claimed.call_id
        call_id = self._new_id()
        execution.request_call(call_id)
        await execution.commit()
        return call_id

    def _ending(self, execution: Execution, decision: Ended) -> Ending:
        match decision:
            case Finish():
                return ending.finish(execution, decision.limit)
            case Fail():
                return ending.fail(execution, decision.error, decision.limit, self._new_id)
            case Pause():
                return ending.pause(execution, decision, self.settings.ask_user_expiry_secs)
            case AskLimit():
                asked = ask_user.ask_about_limit(execution, decision.limit, self.settings, self._new_id)
                return ending.pause(execution, asked, self.settings.ask_user_expiry_secs)

    # -- the end ---------------------------------------------------------------------------------------------------

    async def _end(self, execution: Execution, how: Ending) -> Outcome:
        journal = self._journal
        _, to_state = move = self._live.target(how.trigger)
        ending.stage(execution, how, move)
        erase = not self.settings.observability and to_state != TurnState.PAUSED_ASK_USER
        started = await execution.end(to_state, erase=erase, owning=self._next_owning())
        self._live.fire(how.trigger)
        self._agent.logger.info("turn %s of session %s is %s", self.turn_id, journal.session_id, to_state)
        self._remember(execution)
        result = TurnResult(
            journal.session_id, self.turn_id, journal.step, str(to_state), how.answer, journal.usage, how.question,
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
        self._cache.put(
            journal.session_id, Remembered(journal.session_key, journal.head, is_lean, history, blobs, execution.report)
        )


def _asked_from(path: list[PathEntry]) -> int:
    """Where that begins which nothing has answered yet: the newest messages from outside, and the work done for them.

    The end of the path when it ends in an answer (C13).
    """
    if not path or (path[-1].message.role == "assistant" and not path[-1].message.tool_calls):
        return len(path)
    end = len(path)
    while end and path[end - 1].message.role in ("assistant", "tool"):
        end -= 1
    first = end
    while first and path[first - 1].turn == path[end - 1].turn and _is_request(path[first - 1].message):
        first -= 1
    return first


def _is_request(message: Message) -> bool:
    return message.role in ("user", "system") and not is_summary(message)


def _internal(error: Exception) -> InternalError:
    return InternalError(f"agentflow failed: {type(error).__name__}: {error}")
