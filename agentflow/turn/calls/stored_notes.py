"""An execution's `ctx.memory`: earlier notes from the store, new ones staged with the turn's next commit (R10)."""

from __future__ import annotations

import asyncio

from agentflow.store.rows.inserts import InsertMemory
from agentflow.tools.flows.memory import Memory, Note
from agentflow.turn.calls.from_thread import wait_from_thread
from agentflow.turn.run.execution import Execution
from agentflow.turn.run.step import Step


class StoredNotes:
    """What the session's steps before this one have saved."""

    def __init__(self, step: Step) -> None:
        self._ledger = step.store.ledger
        self._key, self._step = step.claimed.key, step.claimed.step

    async def notes(self, topic: str | None, limit: int, skip: int) -> list[Note]:
        return [Note(*each) for each in await self._ledger.memories(self._key, self._step, topic, limit, skip)]

    async def topics(self) -> dict[str, int]:
        return dict(await self._ledger.memory_topics(self._key, self._step))


def memory_of(step: Step, execution: Execution) -> Memory:
    """The memory as the flows of this execution have it; all executions of a step share it."""
    loop, journal = asyncio.get_running_loop(), execution.journal

    def stage(note: Note) -> None:
        execution.staging.add(
            InsertMemory(journal.step, len(step.notes), note.topic, note.content, note.at, journal.turn)
        )

    return Memory(StoredNotes(step), step.notes, stage, lambda work, cancelled: wait_from_thread(work, loop, cancelled))
