"""What was told live is what the log says: every event of a scenario beside its logged row (T40, T42, R3)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from agentflow import Event
from agentflow.events import SESSION_CREATED, LogEntry
from agentflow.live.event_feed import Feed
from agentflow.store.sql_store import SqlStore
from tests.scenarios.support import rows

Told = dict[str, dict[int, dict[str, Any]]]
"""By session and number: the envelopes as live readers get them."""


class LiveView:
    """Hears everything the feeds of this process tell, whether or not anybody subscribed."""

    def __init__(self) -> None:
        self.told: Told = {}

    def publish(self, feed: Feed, turn_id: str | None, last_seq: int, log: Sequence[LogEntry]) -> None:
        """In place of `Feed.publish`, which it calls."""
        told = self.told.setdefault(feed.session_id, {})
        subscription = feed.subscribe()
        try:
            _PUBLISH(feed, turn_id, last_seq, log)
        finally:
            feed.subscribers.discard(subscription)
        for event in subscription._unread:
            if event.seq is None:
                continue
            if event.type == SESSION_CREATED:  # the id begins anew, whoever had it before
                told.clear()
            told[event.seq] = event.as_dict()

    def check(self, db: str) -> None:
        """Compare with the log, as a reader of another process finds it; what was erased since is not compared."""
        for session_id, told in self.told.items():
            logged, erased = asyncio.run(_logged(db, session_id)), _erased_turns(db, session_id)
            if not logged:
                continue  # the session was erased
            for seq, live in sorted(told.items()):
                if live["turn_id"] not in erased:
                    assert logged[seq].as_dict() == live, f"event {seq} of {session_id}"


_PUBLISH = Feed.publish


async def _logged(db: str, session_id: str) -> dict[int, Event]:
    store = SqlStore.open(db)
    try:
        return {event.seq or 0: event for event in await store.events(session_id, 0, 1_000_000)}
    finally:
        await store.close()


def _erased_turns(db: str, session_id: str) -> set[str]:
    """The turns of agents that keep no record (R5): nothing ran in them by what is left."""
    query = (
        "SELECT turn.id FROM turn JOIN session ON session.key = turn.session_key LEFT JOIN execution "
        "ON execution.session_key = turn.session_key AND execution.turn = turn.number "
        f"WHERE session.id = '{session_id}' AND execution.number IS NULL"
    )
    return {str(turn_id) for (turn_id,) in rows(db, query)}
