"""Asking the worker: the request of each decision, and what its answer changes at once (C31-C33).

Decisions are asked one after the other. State and configuration ride on the next commit, anchored at the head that
this commit leaves (C30).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from agentflow import clock, events
from agentflow.agents.worker import DECISION_SECS, Worker
from agentflow.conversation.state import next_version
from agentflow.errors import InvalidInput, WorkerFailed
from agentflow.message import Message
from agentflow.store import rows
from agentflow.store.records import AGENT, STATE, PathEntry
from agentflow.store.requests import MergeView
from agentflow.text import compact_json
from agentflow.turn.run.execution import Execution
from agentflow.turn.run.step import Step
from agentflow.turn.worker.protocol import Action, Response, read_response


class DecisionPoints:
    """The decisions of one step. `path` is the conversation as it is recorded and staged."""

    def __init__(self, step: Step, execution: Execution, worker: Worker) -> None:
        self.path: list[Message] = []
        self.state: Any = None
        self.lock = asyncio.Lock()
        self._step = step
        self._execution = execution
        self._worker = worker
        self._changes: dict[str, Any] = {}
        self._last_version = 0
        self._unwritten: list[tuple[str, Any]] = []
        self._asked = 0

    async def load(self) -> None:
        """Read the path, and the state and configuration in force on it (C6)."""
        journal = self._execution.journal
        await self._read_path()
        versions = await self._step.store.versions(journal.session_key, self._execution.place)
        self.state, self._last_version = versions.state, versions.last
        self._execution.staging.before_take(self._stage_versions)
        self._execution.kept_by(self._carry_over)
        if versions.agent:
            self._configure(versions.agent)

    async def _read_path(self) -> list[PathEntry]:
        journal = self._execution.journal
        entries = await self._step.store.path(journal.session_key, self._execution.place, lean_before=None)
        self._follow([entry.message for entry in entries])
        return entries

    def _follow(self, path: list[Message]) -> None:
        self.path = path
        self._execution.staging.follow(path)

    async def view(self) -> list[dict[str, Any]]:
        """The path in wire shape."""
        if self._execution.staging.path is None:  # room was made: the path is another one
            await self._execution.commit()
            await self._read_path()
        return [message.as_dict() for message in self.path]

    async def ask(
        self, trigger: Mapping[str, Any], messages: Sequence[Mapping[str, Any]], actions: Sequence[Action]
    ) -> Response:
        """One decision: what the engine proposes, and what the worker makes of it. Raises `WorkerFailed`."""
        return await self._ask(trigger, {"messages": list(messages), "actions": list(actions)}, messages)

    async def start(self) -> None:
        """`session.start`: the worker may change the configuration before the first turn."""
        response = await self._ask({"type": "session.start"}, {"agent": self._execution.agent.config.public()}, ())
        if response.messages is not None or response.actions:
            raise WorkerFailed("The worker can only answer session.start with agent and state.")

    async def _ask(
        self, trigger: Mapping[str, Any], proposed: Mapping[str, Any], messages: Sequence[Mapping[str, Any]]
    ) -> Response:
        execution, journal = self._execution, self._execution.journal
        self._asked += 1
        request = {
            "session_id": journal.session_id,
            "decision_id": f"{journal.turn_id}:{journal.step}:{self._asked}",
            "turn_id": journal.turn_id,
            "agent_id": execution.agent.config.name,
            "trigger": trigger,
            "proposed": proposed,
            "state": self.state,
            "agent": execution.agent.config.public(),
            "calls": [{"id": call.id, "name": call.name, "status": call.status} for call in self._open()],
            "messages": messages,
            "deadline": clock.rfc3339(clock.instant() + int(DECISION_SECS * clock.SECOND)),
        }
        response = read_response(await self._worker.decide(request, lambda failed: None), proposed)
        self._note(response)
        return response

    def _open(self) -> list[Any]:
        return list(self._execution.in_flight.calls.values())

    # -- state and configuration -------------------------------------------------------------------------------------

    def _note(self, response: Response) -> None:
        version = next_version(self.state, response.state, None)
        if version is not None:
            self.state = version.value
            self._unwritten.append((STATE, version.value))
        known = self._execution.agent.config.public()
        changes = {name: value for name, value in response.agent.items() if value != known.get(name)}
        if changes:
            self._configure(changes)
            self._unwritten.append((AGENT, dict(self._changes)))

    def _configure(self, changes: Mapping[str, Any]) -> None:
        execution, claimed = self._execution, self._step.claimed
        try:
            execution.change_agent(execution.agent.changed(changes))
        except InvalidInput as refused:
            raise WorkerFailed(f"The worker's configuration cannot be used: {refused.message}") from None
        self._changes.update(changes)
        execution.render_prompt(claimed.inputs)

    def _carry_over(self) -> None:
        """Write what is in force again, at the head of another branch (X18)."""
        waiting = {kind for kind, _ in self._unwritten}
        in_force = ((STATE, self.state), (AGENT, dict(self._changes) or None))
        self._unwritten += [(kind, value) for kind, value in in_force if value is not None and kind not in waiting]

    def _stage_versions(self) -> None:
        unwritten, self._unwritten = self._unwritten, []
        execution, journal = self._execution, self._execution.journal
        for kind, value in unwritten:
            self._last_version += 1
            place = execution.place or (None, None)
            execution.staging.add(
                rows.InsertStateVersion(self._last_version, kind, compact_json(value), journal.turn, *place)
            )
            if kind == STATE:
                told = {"version": self._last_version, "head_id": execution.staging.position.message_id}
                execution.staging.tell(events.plain(events.STATE_UPDATED, told))

    # -- another path ------------------------------------------------------------------------------------------------

    async def merge(self, view: Sequence[Message]) -> tuple[Message, ...]:
        """Merge the worker's view, as a client's is (C33); what was written. The history is read again."""
        execution, journal = self._execution, self._execution.journal
        await execution.commit()
        try:
            merged = await self._step.store.merge_view(
                MergeView(
                    journal.session_key, self._step.claimed.epoch, journal.turn, execution.number, clock.instant(),
                    tuple(view), self._step.new_id,
                )
            )  # fmt: skip
        except InvalidInput as refused:
            raise WorkerFailed(f"The worker's messages cannot be recorded: {refused.message}") from None
        journal.merged(merged)
        execution.staging.position.move(merged.head, merged.head_id, forks=merged.forks)
        await self._read_again()
        return merged.written

    async def _read_again(self) -> None:
        execution, journal = self._execution, self._execution.journal
        entries = await self._read_path()
        path = self.path.copy()
        first = next((index for index, entry in enumerate(entries) if entry.turn == journal.turn), len(path))
        is_lean = self._step.reads_lean(execution.agent.config.settings)
        execution.transcript.reread(path[:first], path[first:], is_lean=is_lean)
