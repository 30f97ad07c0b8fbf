"""Who comes late to a feed is told first what the log will not say (T42)."""

from __future__ import annotations

import asyncio

from agentflow.events import MODEL_LOADING, Event
from agentflow.live.event_feed import Feed, Subscription

LOADING = Event("s-1", None, "turn", 0, MODEL_LOADING, {"call_id": "c1", "model": "m"})


def _unread(subscription: Subscription) -> list[str]:
    return [event.type for event in asyncio.run(subscription.take(0))]


def test_what_a_call_waits_for_is_told_at_once_and_to_who_comes_meanwhile() -> None:
    feed = Feed("s-1")
    early = feed.subscribe()
    feed.hold("c1", LOADING)
    late = feed.subscribe()
    assert _unread(early) == _unread(late) == [MODEL_LOADING]


def test_what_is_over_is_not_told_to_who_comes_after_it() -> None:
    feed = Feed("s-1")
    feed.hold("c1", LOADING)
    feed.let_go("c1")
    assert _unread(feed.subscribe()) == []
