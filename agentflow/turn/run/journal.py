"""The journal of one running turn: every commit goes through it, and what was committed is told at once.

It knows the session's key and epoch, the main path's head and the counters that number new rows. A commit is one
write job; nothing of it is visible to anybody before it is durable.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from agentflow import clock
from agentflow.conversation.tree import Place
from agentflow.events import LogEntry
from agentflow.live.event_feed import Feed
from agentflow.live.interrupt import Interrupt
from agentflow.store.protocol import Store
from agentflow.store.records import Appended, Claimed, Merged
from agentflow.store.requests import Append, End, Owning
from agentflow.store.rows import InsertBranch, Row


class Journal:
    """Writes for one turn. `usage` sums every model call of it, children included (X6)."""

    def __init__(self, store: Store, feed: Feed, session_id: str, claimed: Claimed, interrupt: Interrupt) -> None:
        self.session_id = session_id
        self.session_key = claimed.key
        self.turn = claimed.turn
        self.turn_id = claimed.turn_id
        self.step = claimed.step
        self.head = claimed.head
        self._forks = claimed.forks
        self._hooks = 0
        self.executions = claimed.executions
        self.branches = claimed.branches
        self.feed = feed
        self.usage = claimed.usage
        self._store = store
        self._epoch = claimed.epoch
        self._interrupt = interrupt

    def advance(self) -> tuple[InsertBranch | None, Place]:
        """Move the head to where the next message of the main path goes; the branch that opens there, if one does."""
        opened = None
        parent, depth = self.head or (None, 0)
        if parent is None or self._forks:
            self._forks = False
            self.branches += 1
            opened = InsertBranch(self.branches, parent, depth)
        self.head = Place(parent if parent is not None and opened is None else self.branches, depth + 1)
        return opened, self.head

    def open_root(self, execution: int) -> tuple[InsertBranch, Place]:
        """Where the first message of a sub-agent's run goes: a root of its own (C1)."""
        self.branches += 1
        return InsertBranch(self.branches, None, 0, execution), Place(self.branches, 1)

    def next_hook(self) -> int:
        """The number of a hook run, counted in its step."""
        self._hooks += 1
        return self._hooks

    def moved(self, merged: Merged) -> None:
        """Go on where a worker's view has taken the path, and tell what it wrote."""
        self.head, self._forks, self.branches = merged.head, merged.forks, merged.branches
        self.feed.publish(self.turn_id, clock.instant(), merged.seq, list(merged.log))

    def fork_from(self, place: Place | None) -> None:
        """Stand at a place of the path that something follows already: the next message opens a branch there."""
        self.head, self._forks = place, place is not None

    def new_execution(self) -> int:
        self.executions += 1
        return self.executions

    async def commit(self, rows: Sequence[Row], log: list[LogEntry]) -> None:
        """Write and tell. Raises `StaleOwner` when another process has the session by now."""
        write = self._append(rows, log)
        self._told(write, await self._store.append(write), log)

    async def end(
        self, rows: Sequence[Row], log: list[LogEntry], state: str, *, erase: bool, owning: Callable[[], Owning] | None
    ) -> Claimed | None:
        """The last commit of this step: it releases the session too, and starts the next queued turn (T10)."""
        write = self._append(rows, log)
        appended = await self._store.end(End(write, state, erase, owning))
        self._told(write, appended, log)
        return appended.started

    def _append(self, rows: Sequence[Row], log: Sequence[LogEntry]) -> Append:
        return Append(
            self.session_key,
            self._epoch,
            self.turn,
            clock.instant(),
            self.head,
            self.executions,
            self.branches,
            rows,
            log,
        )

    def _told(self, write: Append, appended: Appended, log: list[LogEntry]) -> None:
        self.feed.publish(self.turn_id, write.at, appended.seq, log)
        if appended.stop_turn == self.turn_id:
            self._interrupt.request("stop")
