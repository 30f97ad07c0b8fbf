"""Where a run goes: decisions are asked here, and what leads to another path is done here (C33, X18).

Everything a decision is checked by comes before its first write: a view is merged in one transaction or not at all.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from agentflow import clock
from agentflow.conversation.history import UnpairedHistory, exchanges
from agentflow.errors import InvalidInput, WorkerFailed
from agentflow.message import Message
from agentflow.store.requests import MergeView
from agentflow.store.rows import inserts
from agentflow.text import compact_json
from agentflow.turn.decide.actions import ReplaceContext
from agentflow.turn.decide.decision import Changes, Decider, Decision
from agentflow.turn.decide.judge import continued
from agentflow.turn.decide.triggers import Trigger
from agentflow.turn.loop.replace_history import Replacement, named, replace_history
from agentflow.turn.run import tool_calls
from agentflow.turn.run.execution import Execution
from agentflow.turn.run.recorded_path import carried_over
from agentflow.turn.run.step import Step
from agentflow.turn.worker.in_force import InForce


class Course:
    """The course of one execution. Without a worker nobody keeps what is `in_force`."""

    def __init__(self, step: Step, execution: Execution, decider: Decider, in_force: InForce | None) -> None:
        self._step = step
        self._execution = execution
        self._decider = decider
        self._in_force = in_force
        self.one_at_a_time = asyncio.Lock()  # calls end side by side, what becomes of them is decided in turn

    async def decide(self, trigger: Trigger, proposal: Decision) -> Decision:
        """What is done at the trigger. State and configuration hold from here on, unless a view comes first."""
        decision = await self._decider.decide(trigger, proposal)
        if decision.changes is not None and decision.view is None:
            self._note(decision.changes)
        return decision

    async def take(self, decision: Decision) -> None:
        """Merge the view of a decision that has one; open calls are left behind (C20)."""
        if decision.view is None:
            return
        if self._execution.parent is None:
            await self._merge(decision.view)
        else:
            await self._append(decision.view)
        if decision.changes is not None:
            self._note(decision.changes)

    def _note(self, changes: Changes) -> None:
        if self._in_force is not None:
            self._in_force.note(changes)

    async def _merge(self, view: Sequence[Message]) -> None:
        """Merge a view as a client's is (C33); the history is read again."""
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
            raise _unrecordable(refused.message) from None
        journal.merged(merged)
        execution.staging.position.move(merged.head, merged.head_id, forks=merged.forks)
        tool_calls.void_all(execution)
        entries = await self._step.store.path(journal.session_key, execution.place, lean_before=None)
        path = [entry.message for entry in entries]
        first = next((index for index, entry in enumerate(entries) if entry.turn == journal.turn), len(path))
        execution.staging.follow(path.copy())
        is_lean = self._step.reads_lean(execution.agent.config.settings)
        execution.transcript.reread(path[:first], path[first:], is_lean=is_lean)

    async def _append(self, view: Sequence[Message]) -> None:
        """A sub-agent's run has a path of its own that no view can leave: what it adds is recorded."""
        execution = self._execution
        added = continued(execution.staging.path or [], view)
        if added is None or execution.in_flight.calls:
            raise _unrecordable("a sub-agent's run goes on at the end of its own path, with its calls closed.")
        await self._check_new(added)
        for message in added:
            execution.record(named(message, self._step.new_id))

    async def _check_new(self, added: Sequence[Message]) -> None:
        try:
            still_open = [call for exchange in exchanges(added) for call in exchange.open]
        except UnpairedHistory as error:
            raise _unrecordable(str(error)) from None
        if still_open:
            raise _unrecordable(f"the tool call {still_open[0]!r} has no result.")
        ids = [message.id for message in added if message.id]
        if taken := await self._step.store.entries(self._execution.journal.session_key, ids):
            raise _unrecordable(f"the message {taken[0].message.id!r} is recorded elsewhere.")

    async def replace(self, action: ReplaceContext, held: str | None, *, with_tools: bool = True) -> int:
        """Go on with another history, on a new branch at the root; the tokens that are read from now on.

        Recorded messages are copied, calls that are left behind are voided (X18, X19).
        """
        execution = self._execution
        await execution.commit()
        ids = [message.id for message in action.messages if message.id]
        found = await self._step.store.entries(execution.journal.session_key, ids)
        recorded = {entry.message.id: entry for entry in found}
        given = [recorded.get(message.id) or named(message, self._step.new_id) for message in action.messages]
        tool_calls.void_all(execution)
        is_lean = self._step.reads_lean(execution.agent.config.settings)
        new = Replacement.of(action.summary, given, execution, is_lean=is_lean)
        in_force = await carried_over(self._step, execution)
        after = replace_history(execution, new, held, self._step.new_id, with_tools=with_tools)
        for kind, value in in_force:
            number, place = self._step.versions.next(), execution.place or (None, None)
            execution.staging.add(
                inserts.InsertStateVersion(number, kind, compact_json(value), execution.journal.turn, *place)
            )
        await execution.commit()
        return after


def _unrecordable(why: str) -> WorkerFailed:
    return WorkerFailed(f"The worker's messages cannot be recorded: {why}", detail={"field": "messages"})
