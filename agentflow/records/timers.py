"""What time alone will change: when questions expire, sessions are idle or unused for long enough, leases end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from agentflow.clock import SECOND, Instant
from agentflow.config.last_good import AgentFiles
from agentflow.records.retention import DAY
from agentflow.store.protocol import Store
from agentflow.store.records import SessionRecord
from agentflow.store.requests import ListSessions

TimerKind = Literal["question", "idle", "retention", "lease"]


@dataclass(frozen=True, slots=True)
class Timer:
    """At `at` the question of a session expires, its agent makes room because it was idle, it is unused for long
    enough to be deleted, or the lease of its running turn ends (T21, X11, R12, T5).
    """

    at: Instant
    kind: TimerKind
    session_id: str


class Timers:
    """Reads the timers of a store, as the project's files say now."""

    def __init__(self, store: Store, files: AgentFiles) -> None:
        self._store = store
        self._files = files

    async def all(self) -> list[Timer]:
        """Every timer of every session, the next one first; what is over is in it until something was done about it."""
        found: list[Timer] = []
        asked: ListSessions | None = ListSessions(limit=200)
        while asked is not None:
            page = await self._store.sessions(asked)
            found += [timer for session in page.sessions for timer in self._of(session)]
            asked = page.following
        return sorted(found, key=lambda timer: (timer.at, timer.session_id, timer.kind))

    def _of(self, session: SessionRecord) -> Iterator[Timer]:
        if session.running_turn is not None:
            if session.lease_until is not None:
                yield Timer(session.lease_until, "lease", session.id)
            return
        if session.pending is not None and session.pending.expires_at is not None:
            yield Timer(session.pending.expires_at, "question", session.id)
        if session.pending is None and session.ended_at is not None:
            agent = self._files.named(session.agent)
            for strategy in agent.context.strategy if agent is not None else ():
                if strategy.idle_secs is not None:
                    yield Timer(session.ended_at + int(strategy.idle_secs * SECOND), "idle", session.id)
        days = self._files.retention_days(session.agent)
        if days and not session.queued and session.environment != "evaluation":
            yield Timer(session.updated_at + days * DAY + 1, "retention", session.id)  # older than so many days
