"""Which history a step starts from: a new turn's, a completed exchange's, a path answered anew, a resumed turn's."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from agentflow.agents.loaded_agent import LoadedAgent
from agentflow.context.tokens import Report
from agentflow.conversation.history import History, lean
from agentflow.conversation.tree import Place
from agentflow.live.history_cache import HistoryCache
from agentflow.message import Message
from agentflow.store.records import PathEntry
from agentflow.turn.calls import limit_question
from agentflow.turn.loop.planner import take_back
from agentflow.turn.run.execution import Execution
from agentflow.turn.run.journal import Journal
from agentflow.turn.run.recorded_path import recorded_path
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
        if remembered is None and not is_lean:
            execution, path = await self._read(started, claimed.previous_head)
            return self._split(execution, path, len(path) - len(claimed.messages))
        history = remembered.history if remembered else await self._lean()
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

    async def _lean(self) -> History:
        claimed, history = self._step.claimed, History(self._agent.model.name)
        path = await self._step.store.path(claimed.key, claimed.previous_head, lean_before=claimed.turn)
        history.extend(lean(entry.message for entry in path))
        return history

    async def _complete(self, started: float) -> Execution:
        """The input completes an exchange that the path left open, so that exchange belongs to this step (C16)."""
        claimed = self._step.claimed
        execution, path = await self._read(started, claimed.head)
        first = len(path) - len(claimed.messages)
        while first and path[first].message.role == "tool":
            first -= 1
        return self._split(execution, path, _asked_from(path[:first]))

    async def _answer_anew(self, started: float) -> Execution:
        """The input adds nothing: what the path ends with is answered once more (C13)."""
        claimed = self._step.claimed
        if self._agent.config.settings.lean_history:
            path = await self._step.store.path(claimed.key, claimed.head, lean_before=claimed.turn)
            if path and path[-1].place == claimed.head:  # else it ends in results, which a lean reading leaves out
                execution = self.execution_of(started, self._nothing(), await self._report(claimed.head))
                first = _asked_from(path)
                is_whole = path[-1].place.depth - path[first].place.depth == len(path) - 1 - first
                execution.transcript.is_as_recorded = is_whole
                return self._split(execution, path, first)
        execution, path = await self._read(started, claimed.head)
        return self._split(execution, path, _asked_from(path))

    async def _read(self, started: float, reported_at: Place | None) -> tuple[Execution, list[PathEntry]]:
        """The execution, with nothing read yet, and its whole path, which is repaired where it was damaged (C36)."""
        execution = self.execution_of(started, self._nothing(), await self._report(reported_at))
        return execution, await recorded_path(self._step, execution, self._step.claimed.call_id)

    def _nothing(self) -> History:
        return History(self._agent.model.name)

    def _split(self, execution: Execution, path: Sequence[PathEntry], first: int) -> Execution:
        """Read the path, whose current turn begins at index `first`."""
        messages = [entry.message for entry in path]
        is_lean = self._step.reads_lean(self._agent.config.settings)
        execution.transcript.reread(messages[:first], messages[first:], is_lean=is_lean)
        return execution

    async def _resume(self, started: float) -> Execution:
        """A resumed step reads the full history, its own turn with what its provider gave (X2, T15)."""
        claimed = self._step.claimed
        execution, path = await self._read(started, claimed.head)
        begins = (index for index, entry in enumerate(path) if entry.turn == claimed.turn)
        first = next(index for index in begins if index or not path[0].message.summary)
        while path[first].message.role == "tool":  # it completed an exchange that an earlier turn had begun (C16)
            first -= 1
        if path[first].message.role == "assistant":  # a turn that brought no message of its own
            first = _asked_from(path[:first])
        execution.transcript.reread([entry.message for entry in path[:first]], (), is_lean=False)
        execution.transcript.take_up([entry.message for entry in path[first:]])
        execution.spent.allow_again(limit_question.granted(claimed))
        await take_back(self._step, execution)
        execution.transcript.reserve(await self._step.store.call_ids(claimed.key, claimed.execution))
        return execution

    async def _report(self, head: Place | None) -> Report | None:
        return await self._step.store.report(self._step.claimed.key, head, self._step.claimed.execution)


def _asked_from(path: Sequence[PathEntry]) -> int:
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
