"""The Store protocol: claim, append, end, read. Requests in, records out.

Every write is one job on the writer's thread and one transaction (or one savepoint of a shared one, R2). A write
of a turn names the session's `key` and `epoch`; when the epoch is not the session's any more the job is refused
with `StaleOwner` and writes nothing (C35).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Protocol

from agentflow.clock import Instant
from agentflow.context.tokens import Report
from agentflow.conversation.queue import Entry
from agentflow.conversation.tree import Place
from agentflow.events import Event
from agentflow.store.ledger_protocol import Ledger
from agentflow.store.notices_protocol import Notices
from agentflow.store.outcomes import (
    Appended,
    Claimed,
    Given,
    Merged,
    Moved,
    Queued,
    Recorded,
    Refused,
    Replayed,
    Settled,
    Stopped,
    TurnRef,
)
from agentflow.store.records import (
    CallLeftOpen,
    Damage,
    Listed,
    PathEntry,
    Planned,
    Record,
    RunRecord,
    SessionRecord,
    StepRecord,
    TodoRecord,
    Tree,
    TurnRows,
    Versions,
)
from agentflow.store.requests import (
    Alive,
    Append,
    Claim,
    CloseTurn,
    End,
    ListSessions,
    MergeView,
    MoveHead,
    Owning,
    Settle,
    Stop,
)


class Store(Protocol):
    """What the engine asks of a database. All methods are coroutines with one hop to a thread of the store's own.

    Contract: they raise `AgentflowError`s only (driver errors are wrapped in `StoreError`, cause kept) and, once a
    commit is answered, what it wrote survives the process.
    """

    @property
    def ledger(self) -> Ledger:
        """What is kept beside the turns, in the same database."""

    @property
    def notices(self) -> Notices:
        """What tells the processes that share the database of each other (S3)."""

    async def claim(self, request: Claim) -> Claimed | Replayed | Queued | Given | Recorded | Refused: ...

    async def stop(self, request: Stop) -> Stopped: ...

    async def move_head(self, request: MoveHead) -> Moved: ...

    async def left_queues(self) -> list[tuple[str, str]]:
        """`(session id, agent)` of the sessions in which turns wait (C21)."""

    async def take_up(self, session_id: str, owning: Owning, turn_ids: Collection[str] | None = None) -> Claimed | None:
        """Start the first turn that waits, or only one of these, when nothing runs and no question is open (C21)."""

    async def settle(self, request: Settle) -> Settled: ...

    async def give_up(self, key: int, execution: int, call_id: str, text: str) -> tuple[bool, str] | None:
        """Give an open call an error result, unless it has one by now; which one counts (C34)."""

    async def settlement(self, key: int, execution: int, call_id: str) -> tuple[bool, str] | None:
        """`(ok, text)` of a call that was settled from outside and is not recorded yet."""

    async def merge_view(self, request: MergeView) -> Merged: ...

    async def versions(self, key: int, head: Place | None, *, of_session: bool = True) -> Versions:
        """State and configuration in force on the path that ends in `head` (C6, C30)."""

    async def append(self, write: Append) -> Appended: ...

    async def end(self, write: End) -> Appended: ...

    async def close_turn(self, write: CloseTurn) -> Appended: ...

    async def renew(self, keys: Sequence[int], owner: str, lease_until: Instant) -> None:
        """Extend the owner's leases on these sessions in one update (T27)."""

    async def stops(self, keys: Sequence[int]) -> list[tuple[int, str]]:
        """`(session key, turn id)` of the turns somebody asked to stop, among those running there (T23)."""

    async def session(self, session_id: str) -> SessionRecord | None: ...

    async def sessions(self, asked: ListSessions) -> Listed:
        """A page of the sessions, the most recently used first."""

    async def queue(self, key: int) -> list[Entry]:
        """The turns that wait in a session, first to start first."""

    async def left_open(self, key: int, turn_id: str) -> list[CallLeftOpen]:
        """The calls of a turn whose results come from outside and have not come yet."""

    async def shown(self, key: int, turn_id: str) -> list[tuple[str, str]]:
        """`(call id, text so far)` of the replies that a turn's own run is getting, as they were last kept (T30)."""

    async def compactions(self, key: int) -> list[dict[str, Any]]:
        """What each `context.replaced` of the session's own tree told, in order, with `summary_id` (X20)."""

    async def path(self, key: int, head: Place | None, *, lean_before: int | None) -> list[PathEntry]:
        """Root first, up to `head`. With `lean_before`, of turns below that number only texts are read (R4)."""

    async def entries(self, key: int, ids: Sequence[str]) -> list[PathEntry]:
        """The recorded messages of these ids, on whatever branch, in no order."""

    async def report(self, key: int, head: Place | None, execution: int) -> Report | None:
        """What the last completed main call on the path to `head` said and sent (X5).

        Of the executions it may belong to, those of sub-agents other than `execution` are left out.
        """

    async def open_calls(self, key: int, execution: int) -> list[str]:
        """The ids of the tool calls of an execution that have no result yet."""

    async def call_ids(self, key: int, execution: int) -> list[str]:
        """The ids of the tool calls this execution has made, those that are not on its path any more included."""

    async def step(self, key: int, name: str) -> StepRecord | None:
        """The last step of the turn that this id names."""

    async def steps(self, key: int) -> list[StepRecord]: ...

    async def executions(self, key: int) -> list[Record]:
        """The runs of agents of all turns, in the order they began, as `trace` gives those of one."""

    async def runs(self, key: int, turn: int) -> list[RunRecord]:
        """The turn's executions in the order they began."""

    async def run_path(self, key: int, execution: int) -> list[PathEntry]:
        """What a sub-agent's run has recorded, root first."""

    async def turn(self, key: int, name: str) -> TurnRef | None:
        """The turn that this id names, be it its own or another name of it (C19)."""

    async def planned(self, key: int, turn: int, execution: int) -> Planned:
        """What a step that resumes the turn has to know of the steps before (T32, T33)."""

    async def todos(self, key: int) -> TodoRecord | None:
        """The list that clients were told of last, null when there is none or it was dropped (T32)."""

    async def trace(self, key: int, number: int | None) -> TurnRows | None:
        """All rows of the turn of this number, or of the newest one (R6)."""

    async def tree(self, key: int) -> Tree: ...

    async def events(self, session_id: str, after: int, limit: int = 500) -> list[Event]:
        """Logged events with `seq > after`, texts joined in, in order."""

    async def delete(self, session_id: str, alive: Alive) -> bool:
        """Erase the session and all its rows; false when there is none, `TurnAlreadyActive` when it runs (R12)."""

    async def damages(self, session_id: str | None, most: int) -> list[Damage]:
        """The first damaged columns of a session, or for null of all; none where every row is as it must be (Z1)."""
        ...

    async def close(self) -> None: ...
