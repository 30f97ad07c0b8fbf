"""Which history a step starts from: a new turn's, a completed exchange's, a path answered anew, a resumed turn's."""

from __future__ import annotations

from collections.abc import Iterable

from agentflow.agents.loaded_agent import LoadedAgent
from agentflow.context.tokens import Report
from agentflow.conversation.history import History, lean
from agentflow.conversation.tree import Place
from agentflow.live.history_cache import HistoryCache
from agentflow.message import Message
from agentflow.store.records import PathEntry
from agentflow.turn.loop.planner import take_back
from agentflow.turn.run import limit_question
from agentflow.turn.run.execution import Execution
from agentflow.turn.run.journal import Journal
from agentflow.turn.run.staging import Position
from agentflow.turn.run.step import Step
from agentflow.turn.run.transcript import Transcript


class StartingHistory:
    """Reads what the step's execution begins with, from this process's memory where that is still true."""

    def __init__(self, step: Step, journal: Journal, cache: HistoryCache, agent: LoadedAgent) -> None:
        self._step = step
        self._journal = journal
        self._cache = cache
        self._agent = agent

    async def execution(self, started: float) -> Execution:
        """The execution of this step's agent, with the history it starts from."""
        claimed = self._step.claimed
        if claimed.resumed:
            return await self._resume(started)
        if claimed.messages and claimed.messages[0].role == "tool":
            return await self._complete(started)
        if not claimed.messages and claimed.answer is None:
            return await self._answer_anew(started)
        is_lean = self._step.reads_lean(self._agent.config.settings)
        remembered = self._cache.take(
            self._journal.session_id, claimed.key, claimed.previous_head, lean=is_lean, reader=self._agent.model.name
        )
        history = remembered.history if remembered else await self._load(is_lean)
        report = remembered.report if remembered else await self._report(claimed.previous_head)
        execution = self.execution_of(started, history, report, remembered.blobs if remembered else ())
        execution.transcript.remember(*claimed.messages)
        return execution

    def execution_of(
        self, started: float, earlier: History, report: Report | None, blobs: Iterable[str] = ()
    ) -> Execution:
        """The execution where the claim has left its path, with no message of this turn yet."""
        journal, claimed = self._journal, self._step.claimed
        return Execution(
            journal, self._agent, claimed.execution, Transcript(self._agent.model.name, earlier, report),
            Position.of_claim(journal.new_branch, claimed), started, blobs=blobs,
        )  # fmt: skip

    async def _load(self, is_lean: bool) -> History:
        claimed = self._step.claimed
        path = await self._path(claimed.previous_head, claimed.turn if is_lean else None)
        messages = [entry.message for entry in path]
        history = History(self._agent.model.name)
        history.extend(lean(messages) if is_lean else messages)
        return history

    async def _complete(self, started: float) -> Execution:
        """The input completes an exchange that the path left open, so that exchange belongs to this step (C16)."""
        claimed = self._step.claimed
        path = await self._path(claimed.head, None)
        first = len(path) - len(claimed.messages)
        while first and path[first].message.role == "tool":
            first -= 1
        return await self._from_path(started, path, _asked_from(path[:first]))

    async def _answer_anew(self, started: float) -> Execution:
        """The input adds nothing: what the path ends with is answered once more (C13)."""
        head = self._step.claimed.head
        path = await self._path(head, self._step.claimed.turn if self._agent.config.settings.lean_history else None)
        if not path or path[-1].place != head:  # it ends in results, which a lean reading leaves out
            path = await self._path(head, None)
        return await self._from_path(started, path, _asked_from(path))

    async def _from_path(self, started: float, path: list[PathEntry], first: int) -> Execution:
        """An execution whose current turn begins at index `first` of the path."""
        claimed, messages = self._step.claimed, [entry.message for entry in path]
        history = History(self._agent.model.name)
        is_lean = self._step.reads_lean(self._agent.config.settings)
        history.extend(lean(messages[:first]) if is_lean else messages[:first])
        execution = self.execution_of(started, history, await self._report(claimed.head))
        execution.transcript.remember(*messages[first:])
        return execution

    async def _resume(self, started: float) -> Execution:
        """A resumed step reads the full history, its own turn with what its provider gave (X2, T15)."""
        claimed = self._step.claimed
        path = await self._path(claimed.head, None)
        begins = (index for index, entry in enumerate(path) if entry.turn == claimed.turn)
        first = next(index for index in begins if index or not path[0].message.summary)
        while path[first].message.role == "tool":  # it completed an exchange that an earlier turn had begun (C16)
            first -= 1
        if path[first].message.role == "assistant":  # a turn that brought no message of its own
            first = _asked_from(path[:first])
        history = History(self._agent.model.name)
        history.extend(entry.message for entry in path[:first])
        execution = self.execution_of(started, history, await self._report(claimed.head))
        execution.transcript.take_up([entry.message for entry in path[first:]])
        execution.spent.allow_again(limit_question.granted(claimed))
        await take_back(self._step, execution)
        execution.transcript.reserve(await self._step.store.call_ids(claimed.key, claimed.execution))
        return execution

    async def _report(self, head: Place | None) -> Report | None:
        return await self._step.store.report(self._step.claimed.key, head, self._step.claimed.execution)

    async def _path(self, head: Place | None, lean_before: int | None) -> list[PathEntry]:
        return await self._step.store.path(self._step.claimed.key, head, lean_before=lean_before)


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
    return message.role in ("user", "system") and not message.summary
