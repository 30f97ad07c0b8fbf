"""The store on a SQL database: every method is one job on the writer's or the reader's thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any

from agentflow.clock import Instant
from agentflow.context.tokens import Report
from agentflow.conversation.queue import Entry
from agentflow.conversation.tree import Place
from agentflow.events import Event
from agentflow.live.home import Home
from agentflow.store.damage import search
from agentflow.store.jobs import append, settle
from agentflow.store.jobs.claim import claim, take_up
from agentflow.store.jobs.delete import delete
from agentflow.store.jobs.merge_view import merge_view
from agentflow.store.jobs.move_head import move_head
from agentflow.store.jobs.stop import stop
from agentflow.store.notices.opening import notices_of
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
from agentflow.store.reads import calls, events, messages, plans, sessions, turns
from agentflow.store.reads.turn_rows import executions, turn_rows
from agentflow.store.reads.versions import versions_at
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
from agentflow.store.session import waiting
from agentflow.store.sql.database import Database, open_database
from agentflow.store.sql.job_thread import JobThread, OpenJobs
from agentflow.store.sql.reader import Reader
from agentflow.store.sql.writer import Writer
from agentflow.store.sql_ledger import SqlLedger


class SqlStore:
    """Implements `Store` (its contract stands there) for SQLite and Postgres."""

    def __init__(
        self, database: Database, on_commit: Callable[[int], None] | None = None, jobs: OpenJobs | None = None
    ) -> None:
        jobs = jobs or partial(JobThread, home=Home())
        self._database = database
        self.notices: Notices = notices_of(database)
        self._writer = Writer(database, on_commit, jobs, self.notices)
        self._reader = Reader(database, jobs)
        self.ledger = SqlLedger(self._writer, self._reader)

    @classmethod
    def open(cls, url: str, on_commit: Callable[[int], None] | None = None, *, read_only: bool = False) -> SqlStore:
        """The store of this URL. Nothing is connected before the first job, which also makes or checks the tables;
        with `read_only` it makes and changes nothing, and a database that is not there yet is an empty one (Z1).

        `on_commit` is called on the writer's thread right after each COMMIT and before anybody is answered, with
        the commit's number from 1; when it raises, the store writes nothing any more, as after a crash there.
        Raises `StoreError` for a URL that is not understood.
        """
        return cls(open_database(url, read_only=read_only), on_commit)

    async def claim(self, request: Claim) -> Claimed | Replayed | Queued | Given | Recorded | Refused:
        return await self._writer.run(lambda tx: claim(tx, request), request.session_id)

    async def stop(self, request: Stop) -> Stopped:
        return await self._writer.run(lambda tx: stop(tx, request), request.session_id)

    async def move_head(self, request: MoveHead) -> Moved:
        return await self._writer.run(lambda tx: move_head(tx, request), request.session_id)

    async def left_queues(self) -> list[tuple[str, str]]:
        return await self._reader.run(sessions.left_queues)

    async def take_up(self, session_id: str, owning: Owning, turn_ids: Collection[str] | None = None) -> Claimed | None:
        return await self._writer.run(lambda tx: take_up(tx, session_id, owning, turn_ids), session_id)

    async def settle(self, request: Settle) -> Settled:
        return await self._writer.run(lambda tx: settle.settle(tx, request), request.session_id)

    async def give_up(self, key: int, execution: int, call_id: str, text: str) -> tuple[bool, str] | None:
        return await self._writer.run(lambda tx: settle.give_up(tx, key, execution, call_id, text), key)

    async def settlement(self, key: int, execution: int, call_id: str) -> tuple[bool, str] | None:
        return await self._reader.run(lambda tx: settle.settlement(tx, key, execution, call_id))

    async def merge_view(self, request: MergeView) -> Merged:
        return await self._writer.run(lambda tx: merge_view(tx, request), request.session_key)

    async def versions(self, key: int, head: Place | None, *, of_session: bool = True) -> Versions:
        return await self._reader.run(lambda tx: versions_at(tx, key, head, of_session=of_session))

    async def append(self, write: Append) -> Appended:
        return await self._writer.run(lambda tx: append.append(tx, write), write.session_key)

    async def end(self, write: End) -> Appended:
        return await self._writer.run(lambda tx: append.end(tx, write), write.append.session_key)

    async def close_turn(self, write: CloseTurn) -> Appended:
        return await self._writer.run(lambda tx: append.close_turn(tx, write), write.append.session_key)

    async def renew(self, keys: Sequence[int], owner: str, lease_until: Instant) -> None:
        if keys:
            await self._writer.run(lambda tx: append.renew(tx, keys, owner, lease_until))

    async def stops(self, keys: Sequence[int]) -> list[tuple[int, str]]:
        return await self._reader.run(lambda tx: sessions.stops(tx, keys)) if keys else []

    async def session(self, session_id: str) -> SessionRecord | None:
        return await self._reader.run(lambda tx: sessions.session(tx, session_id))

    async def sessions(self, asked: ListSessions) -> Listed:
        return await self._reader.run(lambda tx: sessions.sessions(tx, asked))

    async def queue(self, key: int) -> list[Entry]:
        return await self._reader.run(lambda tx: waiting.load(tx, key))

    async def left_open(self, key: int, turn_id: str) -> list[CallLeftOpen]:
        return await self._reader.run(lambda tx: calls.left_open(tx, key, turn_id))

    async def shown(self, key: int, turn_id: str) -> list[tuple[str, str]]:
        return await self._reader.run(lambda tx: calls.shown(tx, key, turn_id))

    async def compactions(self, key: int) -> list[dict[str, Any]]:
        return await self._reader.run(lambda tx: messages.compactions(tx, key))

    async def path(self, key: int, head: Place | None, *, lean_before: int | None) -> list[PathEntry]:
        return await self._reader.run(lambda tx: messages.path(tx, key, head, lean_before))

    async def entries(self, key: int, ids: Sequence[str]) -> list[PathEntry]:
        return await self._reader.run(lambda tx: messages.entries(tx, key, ids))

    async def report(self, key: int, head: Place | None, execution: int) -> Report | None:
        return await self._reader.run(lambda tx: calls.report(tx, key, head, execution))

    async def open_calls(self, key: int, execution: int) -> list[str]:
        return await self._reader.run(lambda tx: calls.open_calls(tx, key, execution))

    async def call_ids(self, key: int, execution: int) -> list[str]:
        return await self._reader.run(lambda tx: calls.call_ids(tx, key, execution))

    async def step(self, key: int, name: str) -> StepRecord | None:
        return await self._reader.run(lambda tx: sessions.step(tx, key, name))

    async def runs(self, key: int, turn: int) -> list[RunRecord]:
        return await self._reader.run(lambda tx: sessions.runs(tx, key, turn))

    async def executions(self, key: int) -> list[Record]:
        return await self._reader.run(lambda tx: executions(tx, key))

    async def run_path(self, key: int, execution: int) -> list[PathEntry]:
        return await self._reader.run(lambda tx: messages.run_path(tx, key, execution))

    async def turn(self, key: int, name: str) -> TurnRef | None:
        return await self._reader.run(lambda tx: turns.resolve(tx, key, name))

    async def steps(self, key: int) -> list[StepRecord]:
        return await self._reader.run(lambda tx: sessions.steps(tx, key))

    async def planned(self, key: int, turn: int, execution: int) -> Planned:
        return await self._reader.run(lambda tx: plans.planned(tx, key, turn, execution))

    async def todos(self, key: int) -> TodoRecord | None:
        return await self._reader.run(lambda tx: plans.shown(tx, key))

    async def trace(self, key: int, number: int | None) -> TurnRows | None:
        return await self._reader.run(lambda tx: turn_rows(tx, key, number))

    async def tree(self, key: int) -> Tree:
        return await self._reader.run(lambda tx: messages.tree(tx, key))

    async def events(self, session_id: str, after: int, limit: int = 500) -> list[Event]:
        return await self._reader.run(lambda tx: events.read_events(tx, session_id, after, limit))

    async def delete(self, session_id: str, alive: Alive) -> bool:
        return await self._writer.run(lambda tx: delete(tx, session_id, alive), session_id)

    async def damages(self, session_id: str | None, most: int) -> list[Damage]:
        return await self._reader.run(lambda tx: search.damages(tx, session_id, most))

    async def close(self) -> None:
        """Finish the jobs given so far, then let go of the database."""
        await self._writer.close()
        await self._reader.close()
        await asyncio.to_thread(self.notices.close)
        self._database.close()
