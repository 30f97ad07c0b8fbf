"""The Ledger protocol: what is kept beside a conversation's turns (R5-R12). Requests in, records out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from agentflow.clock import Instant
from agentflow.events import LogEntry
from agentflow.message import Usage
from agentflow.store.counted import Counts, KeptFiles, SentCall
from agentflow.store.outcomes import KeyedRequest
from agentflow.store.portable import Portable
from agentflow.store.records import SnapshotRecord
from agentflow.store.requests import Alive
from agentflow.store.rows.written import Row
from agentflow.store.sweeping import DeleteUnused, ListUnused, Unused


class Ledger(Protocol):
    """What the engine asks of a database beside `Store`, under the same contract.

    Methods that write name the session's `key` and write nothing when the session is gone: what was erased does not
    come back (R12).
    """

    async def rate(self, key: int, step: int, rating: str, comment: str | None, at: Instant) -> bool:
        """Keep the rating of a step in place of an earlier one; false when there is no such step (R11)."""

    async def begin_naming(self, key: int) -> bool:
        """Count a try to name the session; false when it has a name, was tried often enough, or is gone (R7)."""

    async def end_naming(
        self, key: int, call: Sequence[Row], name: str | None, at: Instant
    ) -> tuple[int, list[LogEntry]] | None:
        """Write the title call, and keep the name unless there is one by now; what the log has of it then (R7)."""

    async def naming_usage(self, key: int) -> Usage:
        """What the title calls of a session have used, which no turn's sum has (X6)."""

    async def give_name(self, key: int, name: str | None, at: Instant) -> tuple[int, list[LogEntry]] | None:
        """Put a person's name in place of any other, null to take it away; what the log has of it (R7)."""

    async def agents(self) -> list[str]:
        """The names of the agents that have sessions."""

    async def unused(self, asked: ListUnused) -> list[Unused]:
        """A page of the sessions of an agent that nobody used for long (R12)."""

    async def take_sweep(self, owner: str, at: Instant, until: Instant) -> bool:
        """Be the one who sweeps, until that moment; false while somebody else is (R12)."""

    async def delete_unused(self, asked: DeleteUnused) -> list[str] | None:
        """Delete those that are still unused; the ids of what is gone, null when somebody else sweeps by now (R12)."""

    async def end_sweep(self, owner: str) -> None:
        """Let others sweep."""

    async def counts(self, since: Instant) -> Counts:
        """What turns have counted since then, in all sessions but those of evaluations (R6)."""

    async def snapshot_decision(self, key: int) -> tuple[bool, str] | None:
        """Whether the session is snapshotted, and why; null while nothing is decided (R8)."""

    async def snapshots(self, key: int) -> list[SnapshotRecord]:
        """What flows loaded in the session, in order."""

    async def snapshot_body(self, key: int, hash_: str) -> bytes | None:
        """The packed data of that hash, null when the session has none."""

    async def memories(
        self, key: int, before_step: int, topic: str | None, limit: int, skip: int
    ) -> list[tuple[Any, ...]]:
        """Notes `(topic, content, at)` of the steps before that one, the newest first (R10)."""

    async def memory_topics(self, key: int, before_step: int) -> list[tuple[Any, ...]]:
        """How many of them each topic has."""

    async def sent(self, key: int, turn: int, call: int | str) -> SentCall | None:
        """A model call by its id, or by its number in a turn, and what its request is made again from (R5)."""

    async def blob(self, key: int, hash_: str) -> str | None:
        """The text that the session keeps under this hash, such as a configuration; null when it keeps none."""

    async def files(self, key: int, hashes: Sequence[str], model: str = "") -> KeptFiles:
        """The session's files by hash, and which of them this model was refused before (W4)."""

    async def begin_request(
        self, name: str, fingerprint: str, owner: str, at: Instant, until: Instant, oldest: Instant, alive: Alive
    ) -> KeyedRequest | None:
        """Have the request of a name, null, or what there is of it (S7); one begun before `oldest` does not count."""

    async def end_request(self, name: str, owner: str, answer: str | None) -> None:
        """Keep the answer of a request that this owner has, or with null forget the request."""

    async def forget_requests(self, before: Instant) -> None:
        """Forget those that were begun before."""

    async def take_out(self, session_id: str, put: Callable[[Portable], None]) -> bool:
        """Hand the whole session, as it is at one moment, to `put` on another thread; false when there is none.

        `put` may be called more than once: it starts anew (R12).
        """

    async def put_in(self, session_id: str, brought: Callable[[], Portable], at: Instant) -> bool:
        """Insert the session that `brought` gives, all of it or, when its id is taken, nothing and false (R12).

        `brought` is called on another thread, and may be called more than once.
        """
