"""The journal of one running turn: every commit goes through it, and what was committed is told at once.

It knows the session's key and epoch, and the counters that number new rows. A commit is one
write job; nothing of it is visible to anybody before it is durable.
"""

from __future__ import annotations

from collections.abc import Callable

from agentflow import clock
from agentflow.clock import NewId
from agentflow.live.event_feed import Feed
from agentflow.live.interrupt import Interrupt
from agentflow.message import Usage
from agentflow.store.outcomes import Appended, Claimed, Closed, Merged
from agentflow.store.protocol import Store
from agentflow.store.requests import Append, Close, CloseTurn, End, Owning
from agentflow.store.rows.written import Row
from agentflow.turn.run.staging import Batch


class Journal:
    """Writes for one turn. `usage` sums every model call of it, children included (X6)."""

    def __init__(self, store: Store, feed: Feed, session_id: str, claimed: Claimed, interrupt: Interrupt) -> None:
        self.session_id = session_id
        self.session_key = claimed.key
        self.turn = claimed.turn
        self.turn_id = claimed.turn_id
        self.step = claimed.step
        self._hooks = 0
        self.executions = claimed.executions
        self.branches = claimed.branches
        self.feed = feed
        self.usage = claimed.usage
        self.is_cut = False
        self._store = store
        self._epoch = claimed.epoch
        self._interrupt = interrupt

    def new_branch(self) -> int:
        self.branches += 1
        return self.branches

    def new_execution(self) -> int:
        self.executions += 1
        return self.executions

    def next_hook(self) -> int:
        """The number of a hook run, counted in its step."""
        self._hooks += 1
        return self._hooks

    def spend(self, usage: Usage) -> None:
        self.usage += usage

    def replied(self, finish_reason: str | None) -> None:
        """Remember how the last reply of a loop ended: it is the answer, when the turn is done now."""
        self.is_cut = finish_reason == "length"

    def merged(self, merged: Merged) -> None:
        """Tell what a worker's view wrote."""
        self.branches = merged.branches
        self.feed.publish(self.turn_id, merged.seq, merged.log)

    async def commit(self, batch: Batch) -> None:
        """Write and tell. Raises `StaleOwner` when another process has the session by now."""
        write = self._append(batch)
        self._told(write, await self._store.append(write), batch)

    async def commit_aside(self, *rows: Row) -> None:
        """Write these rows and nothing that is staged; the stored head stays."""
        await self.commit(Batch(list(rows), []))

    async def end(self, batch: Batch, state: str, *, owning: Callable[[], Owning] | None) -> Claimed | None:
        """The last commit of this step: it releases the session too, and starts the next queued turn (T10)."""
        write = self._append(batch)
        appended = await self._store.end(End(write, state, owning))
        self._told(write, appended, batch)
        return appended.started

    async def close(
        self, batch: Batch, how: Close, new_id: NewId, *, owning: Callable[[], Owning] | None
    ) -> tuple[Closed, Claimed | None]:
        """The last commit of a turn that does not end by itself: the store closes what is open of it (T24)."""
        write = self._append(batch)
        appended = await self._store.close_turn(CloseTurn(write, how, new_id, owning))
        if appended.closed is None:
            raise RuntimeError("the store closed a turn and says nothing of it")
        self.feed.publish(self.turn_id, appended.seq, [*batch.log, *appended.closed.log])
        return appended.closed, appended.started

    def _append(self, batch: Batch) -> Append:
        return Append(
            self.session_key, self._epoch, self.turn, clock.instant(), batch.head, self.executions, self.branches,
            batch.rows, batch.log, batch.keeps_head,
        )  # fmt: skip

    def _told(self, write: Append, appended: Appended, batch: Batch) -> None:
        self.feed.publish(self.turn_id, appended.seq, batch.log)
        if appended.stop_turn == self.turn_id:
            self._interrupt.request("stop")
