"""What came of trying to break it: odd ids and numbers, a database taken away, sessions erased under their readers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from agentflow import Event, InvalidInput, Runtime, SessionNotFound, StaleOwner
from agentflow.live import event_feed
from agentflow.testing import Kit
from tests.scenarios.support import Gate

HALF = "\ud800"  # half of a surrogate pair, which no database holds as text


async def read(events: AsyncIterator[Event]) -> list[Event]:
    return [event async for event in events]


ASKED: dict[str, Callable[[Runtime], Coroutine[Any, Any, Any]]] = {
    "status of a session": lambda rt: rt.status(HALF),
    "tree of a session": lambda rt: rt.tree(HALF),
    "events of a session": lambda rt: read(rt.events(HALF)),
    "stop of a session": lambda rt: rt.stop(HALF),
    "erasing a session": lambda rt: rt.delete(HALF),
    "a message to move to": lambda rt: rt.checkout("s-1", HALF),
    "the result of a turn": lambda rt: rt.result("s-1", HALF),
    "a call to settle": lambda rt: rt.settle("s-1", HALF),
    "an input to": lambda rt: rt.submit(None, {"type": "client.append", "messages": []}),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED)
def test_an_id_that_is_no_text_is_refused_wherever_it_is_asked_for(
    agentflow: Kit, asked: Callable[[Runtime], Coroutine[Any, Any, Any]]
) -> None:
    """Fault 14: an operating system hands over what is not UTF-8 as lone surrogates."""
    agentflow.agent(replies=[{"text": "hello"}])
    agentflow.send("hi")
    with pytest.raises(InvalidInput):
        agentflow.run(asked(agentflow.runtime))
    assert agentflow.status()["status"] == "idle"


def test_a_turn_or_a_limit_no_database_can_count_to_is_refused(agentflow: Kit, agentflow_db: str) -> None:
    agentflow.agent(replies=[{"text": "hello"}])
    agentflow.send("hi")
    with pytest.raises(InvalidInput):
        agentflow.run(agentflow.runtime.trace("s-1", 10**30))
    if agentflow_db.startswith("sqlite"):
        with pytest.raises(InvalidInput, match="too large"):
            agentflow.run(agentflow.runtime.sessions(limit=10**30))


def test_a_number_beyond_any_json_reader_is_refused_by_its_field(agentflow: Kit) -> None:
    agentflow.agent()
    with pytest.raises(InvalidInput, match=r"client\.state\.n: is too large a number") as refused:
        agentflow.send("hi", client={"state": {"n": 10**5000}})
    assert refused.value.detail == {"field": "client.state.n"}


def test_a_database_file_taken_away_during_a_turn_ends_the_turn_and_is_made_anew(
    agentflow: Kit, agentflow_db: str
) -> None:
    """Fault 15: rows for a file that is not there any more were reported as written."""
    if not agentflow_db.startswith("sqlite"):
        pytest.skip("the database is no file")
    gate = Gate({"text": "lost"}, {"text": "kept"})
    agentflow.agent(replies=gate)
    receipt = agentflow.submit({"type": "client.message", "message": {"role": "user", "content": "first"}})
    file = Path(agentflow_db.removeprefix("sqlite:///"))
    for part in file.parent.glob(f"{file.name}*"):
        part.unlink()
    gate.open()
    with pytest.raises(StaleOwner, match="lost its session"):
        agentflow.result(receipt.turn_id)
    assert agentflow.send("second", agent_id="test").answer == "kept"
    agentflow.restart()
    assert [message["content"] for message in agentflow.path()] == ["second", "kept"]


@pytest.mark.parametrize("begun_anew", [False, True], ids=["gone", "its id used again"])
def test_who_follows_a_session_hears_that_it_was_erased(agentflow: Kit, begun_anew: bool) -> None:
    """R12: the reader of an erased session neither waits for ever nor reads what another one says."""
    agentflow.agent(replies=[{"text": "old"}, {"text": "new"}, {"text": "newer"}][: 3 if begun_anew else 1])
    agentflow.send("hi")

    async def follow() -> list[Event]:
        seen = []
        async with aclosing(agentflow.runtime.events("s-1", follow=True)) as events:  # type: ignore[type-var]
            async for event in events:
                seen.append(event)
                if len(seen) == 10:
                    await agentflow.runtime.delete("s-1")
                    for text in ("one", "two") if begun_anew else ():
                        await agentflow.runtime.run("s-1", "test", text)
        return seen

    with pytest.raises(SessionNotFound):
        agentflow.run(asyncio.wait_for(follow(), 10))


def test_a_reader_that_does_not_read_keeps_no_memory_and_misses_no_logged_event(
    agentflow: Kit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B64: one rule of eviction for each registry. What is only streamed is told again as one delta, or not at all."""
    monkeypatch.setattr(event_feed, "_MOST_UNREAD", 8)
    agentflow.agent(replies=[{"text": "x" * 40, "chunk_size": 1}, {"text": "y" * 40, "chunk_size": 1}])
    agentflow.send("hi")

    async def read_late() -> list[Event]:
        seen = []
        async with aclosing(agentflow.runtime.events("s-1", follow=True)) as events:  # type: ignore[type-var]
            async for event in events:
                seen.append(event)
                if event.seq == 10:
                    await agentflow.runtime.run("s-1", "test", "again")
                if event.seq == 19:
                    return seen
        return seen

    seen = agentflow.run(asyncio.wait_for(read_late(), 10))
    assert [event.seq for event in seen if event.seq is not None] == list(range(1, 20))
    assert sum(event.seq is None for event in seen) <= 8
