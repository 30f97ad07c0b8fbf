"""The ledger on a SQL database: every method is one job on the writer's or the reader's thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from agentflow.clock import Instant
from agentflow.message import Usage
from agentflow.store.counted import Counts, KeptFiles, SentCall
from agentflow.store.jobs import delete
from agentflow.store.ledger import (
    counts,
    feedback,
    keyed_requests,
    memories,
    names,
    portable,
    sent,
    snapshots,
    sweep_lease,
)
from agentflow.store.outcomes import KeyedRequest
from agentflow.store.portable import Portable
from agentflow.store.reads.files import kept_files
from agentflow.store.records import SnapshotRecord
from agentflow.store.requests import Alive
from agentflow.store.rows.written import Row
from agentflow.store.session.close_turn import naming_usage
from agentflow.store.sql.reader import Reader
from agentflow.store.sql.writer import Writer
from agentflow.store.sweeping import DeleteUnused, ListUnused, Unused


class SqlLedger:
    """Implements `Ledger` (its contract stands there) on the threads of its store."""

    def __init__(self, writer: Writer, reader: Reader) -> None:
        self._writer = writer
        self._reader = reader

    async def rate(self, key: int, step: int, rating: str, comment: str | None, at: Instant) -> bool:
        return await self._writer.run(lambda tx: feedback.rate(tx, key, step, rating, comment, at), key)

    async def begin_naming(self, key: int) -> bool:
        return await self._writer.run(lambda tx: names.begin(tx, key), key)

    async def end_naming(self, key: int, call: Sequence[Row], name: str | None, at: Instant) -> names.Told | None:
        return await self._writer.run(lambda tx: names.end(tx, key, call, name, at), key)

    async def naming_usage(self, key: int) -> Usage:
        return await self._reader.run(lambda tx: naming_usage(tx, key))

    async def give_name(self, key: int, name: str | None, at: Instant) -> names.Told | None:
        return await self._writer.run(lambda tx: names.give(tx, key, name, at), key)

    async def agents(self) -> list[str]:
        return await self._reader.run(delete.agents)

    async def unused(self, asked: ListUnused) -> list[Unused]:
        return await self._reader.run(lambda tx: delete.unused(tx, asked))

    async def take_sweep(self, owner: str, at: Instant, until: Instant) -> bool:
        return await self._writer.run(lambda tx: sweep_lease.take(tx, owner, at, until))

    async def delete_unused(self, asked: DeleteUnused) -> list[str] | None:
        return await self._writer.run(lambda tx: delete.delete_unused(tx, asked), min(asked.sessions))

    async def end_sweep(self, owner: str) -> None:
        await self._writer.run(lambda tx: sweep_lease.give_back(tx, owner))

    async def counts(self, since: Instant) -> Counts:
        return await self._reader.run(lambda tx: counts.counts(tx, since))

    async def snapshot_decision(self, key: int) -> tuple[bool, str] | None:
        return await self._reader.run(lambda tx: snapshots.decision(tx, key))

    async def snapshots(self, key: int) -> list[SnapshotRecord]:
        return await self._reader.run(lambda tx: snapshots.taken(tx, key))

    async def snapshot_body(self, key: int, hash_: str) -> bytes | None:
        return await self._reader.run(lambda tx: snapshots.body(tx, key, hash_))

    async def memories(
        self, key: int, before_step: int, topic: str | None, limit: int, skip: int
    ) -> list[tuple[Any, ...]]:
        return await self._reader.run(lambda tx: memories.notes(tx, key, before_step, topic, limit, skip))

    async def memory_topics(self, key: int, before_step: int) -> list[tuple[Any, ...]]:
        return await self._reader.run(lambda tx: memories.topics(tx, key, before_step))

    async def sent(self, key: int, turn: int, call: int | str) -> SentCall | None:
        return await self._reader.run(lambda tx: sent.sent(tx, key, turn, call))

    async def blob(self, key: int, hash_: str) -> str | None:
        return await self._reader.run(lambda tx: sent.blob(tx, key, hash_))

    async def files(self, key: int, hashes: Sequence[str], model: str = "") -> KeptFiles:
        return await self._reader.run(lambda tx: kept_files(tx, key, hashes, model))

    async def begin_request(
        self, name: str, fingerprint: str, owner: str, at: Instant, until: Instant, oldest: Instant, alive: Alive
    ) -> KeyedRequest | None:
        asked = (name, fingerprint, owner, at, until, oldest, alive)
        return await self._writer.run(lambda tx: keyed_requests.begin(tx, *asked))

    async def end_request(self, name: str, owner: str, answer: str | None) -> None:
        await self._writer.run(lambda tx: keyed_requests.end(tx, name, owner, answer))

    async def forget_requests(self, before: Instant) -> None:
        await self._writer.run(lambda tx: keyed_requests.forget(tx, before))

    async def take_out(self, session_id: str, put: Callable[[Portable], None]) -> bool:
        return await self._reader.run(lambda tx: portable.take_out(tx, session_id, put))

    async def put_in(self, session_id: str, brought: Callable[[], Portable], at: Instant) -> bool:
        return await self._writer.run(lambda tx: portable.put_in(tx, brought, at), session_id)
