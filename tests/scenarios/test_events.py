"""The event log: in order, gapless, the same live and later (T40-T42)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agentflow import Event, InvalidInput, SessionNotFound
from agentflow.models.protocol import FinishReason, TextDelta
from agentflow.testing import Kit
from tests.scenarios.support import Deltas, Gate, call, watched


def look(place: str) -> str:
    """Look at a place."""
    return f"{place} is quiet"


REPLIES: list[dict[str, Any]] = [
    {"text": "Let me look.", "tool_calls": [call("look", place="north"), call("look", place="south")]},
    {"text": "All quiet.", "chunk_size": 3},
]
MESSAGE = {"type": "client.message", "message": {"role": "user", "content": "Is it quiet?"}}


async def followed(kit: Kit, turn_id: str, after_seq: int = 0) -> list[Event]:
    return [event async for event in kit.runtime.events("s-1", after_seq, turn_id)]


def logged(events: list[Event]) -> list[Event]:
    return [event for event in events if event.seq is not None]


def test_a_turn_tells_its_story_in_order(agentflow: Kit) -> None:
    """T41."""
    agentflow.agent(tools=[look], replies=REPLIES)
    agentflow.send("Is it quiet?")
    assert [event.type for event in agentflow.events()] == [
        "session.created", "turn.started", "message.new", "step.started", "llm.call.requested",
        "llm.call.completed", "message.new", "tool.call.requested", "tool.call.requested",
        "message.new", "tool.call.completed", "message.new", "tool.call.completed", "llm.call.requested",
        "llm.call.completed", "message.new", "step.completed", "turn.completed", "done",
    ]  # fmt: skip


def test_events_are_numbered_from_1_without_gaps_over_turns_and_restarts(agentflow: Kit) -> None:
    """T40."""
    agentflow.agent(tools=[look], replies=[*REPLIES, *REPLIES])
    agentflow.send("Is it quiet?")
    agentflow.restart()
    agentflow.send("And now?")
    events = agentflow.events()
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert [event.type for event in events].count("session.created") == 1
    assert [event.type for event in events].count("done") == 2


def test_the_envelope_is_the_documented_one(agentflow: Kit) -> None:
    """T40, R13."""
    agentflow.agent(replies=[{"text": "ok"}])
    agentflow.send("hi", turn_id="t-1")
    assert agentflow.events("done")[0].as_dict() == {
        "session_id": "s-1",
        "seq": len(agentflow.events()),
        "turn_id": "t-1",
        "at": "2030-01-01T09:00:00.000000+00:00",
        "type": "done",
        "data": {"turn_id": "t-1", "answer": "ok", "aborted": False, "pending": False},
    }


def test_what_is_streamed_live_is_what_is_logged(agentflow: Kit) -> None:
    """T42: in order from any point, then live; T43: the text streamed is the text stored."""
    gate = Gate(*REPLIES)
    agentflow.agent(tools=[look], replies=gate)
    live = watched(agentflow, "Is it quiet?", gate)
    assert [event.as_dict() for event in logged(live)] == [event.as_dict() for event in agentflow.events()]
    streamed: dict[str, str] = {}
    for delta in (event.data for event in live if event.type == "llm.delta"):
        assert delta["offset"] == len(streamed.setdefault(delta["call_id"], ""))
        streamed[delta["call_id"]] += delta["text"]
    replies = {message["id"]: message["content"] for message in agentflow.path() if message["role"] == "assistant"}
    assert streamed == replies


def test_deltas_come_before_the_completion_they_belong_to(agentflow: Kit) -> None:
    gate = Gate({"text": "abcdef", "chunk_size": 2})
    agentflow.agent(replies=gate)
    types = [event.type for event in watched(agentflow, "hi", gate)]
    assert types[types.index("llm.call.requested") :][:5] == [
        "llm.call.requested", "llm.delta", "llm.delta", "llm.delta", "llm.call.completed",
    ]  # fmt: skip


def test_a_late_subscriber_gets_the_text_so_far_as_one_delta(agentflow: Kit) -> None:
    """T40."""
    joined = asyncio.Event()
    agentflow.agent(model=Deltas([TextDelta("ab"), TextDelta("cd"), joined, TextDelta("ef"), FinishReason("stop")]))
    receipt = agentflow.submit(MESSAGE)
    agentflow.until("llm.delta")

    async def join_late() -> list[dict[str, Any]]:
        deltas = []
        async for event in agentflow.runtime.events("s-1", receipt.after_seq, receipt.turn_id):
            if event.type == "llm.delta":
                deltas.append(event.data)
                joined.set()
        return deltas

    first, second = agentflow.run(join_late())
    assert (first["offset"], first["text"]) == (0, "abcd")
    assert (second["offset"], second["text"]) == (4, "ef")
    assert first["call_id"] == second["call_id"] == agentflow.path()[1]["id"]


def test_a_reader_of_many_attached_at_any_moment_sees_each_logged_event_once(agentflow: Kit) -> None:
    """B61: no gap, no repeat."""
    agentflow.agent(tools=[look], replies=REPLIES)
    receipt = agentflow.submit(MESSAGE)

    async def read() -> list[list[Event]]:
        readers = []
        for _ in range(20):
            readers.append(asyncio.ensure_future(followed(agentflow, receipt.turn_id)))
            await asyncio.sleep(0)
        return await asyncio.gather(*readers)

    expected = None
    for events in agentflow.run(read()):
        expected = expected or [event.seq for event in agentflow.events()]
        assert [event.seq for event in logged(events)] == expected


def test_a_reader_in_another_process_sees_the_log_and_its_end(agentflow: Kit) -> None:
    """T40: all of it; what is not logged is told in between where the database carries it (S3)."""
    gate = Gate({"text": "ok"})
    agentflow.agent(replies=gate)
    receipt = agentflow.submit(MESSAGE)
    other = agentflow.another_runtime()

    async def read() -> list[Event]:
        events = []
        async for event in other.events("s-1", turn_id=receipt.turn_id):
            events.append(event)
            gate.open()
        return events

    events = logged(agentflow.run(read()))
    assert [event.as_dict() for event in events] == [event.as_dict() for event in agentflow.events()]


def test_a_turn_that_ended_yields_its_tail_and_ends(agentflow: Kit) -> None:
    """T42, B61: with the receipt's `after_seq` exactly its own events."""
    agentflow.agent(replies=lambda request: {"text": f"reply {request.turn}"})
    agentflow.send("one")
    receipt = agentflow.submit(MESSAGE)
    agentflow.result(receipt.turn_id)
    agentflow.send("three")
    events = agentflow.run(followed(agentflow, receipt.turn_id, receipt.after_seq))
    assert {event.turn_id for event in events} == {receipt.turn_id}
    assert events[0].type == "turn.started"
    assert events[-1].data["answer"] == "reply 2"


def test_a_turn_that_ended_has_nothing_after_its_end(agentflow: Kit) -> None:
    """B61: reconnect with the last number, twice: no event, no made-up end."""
    agentflow.agent(replies=[{"text": "ok"}])
    result = agentflow.send("hi")
    last = agentflow.events()[-1].seq or 0
    assert agentflow.run(followed(agentflow, result.turn_id, last)) == []
    assert agentflow.run(followed(agentflow, result.turn_id, last)) == []


def test_events_after_a_number_are_exactly_the_rest(agentflow: Kit) -> None:
    agentflow.agent(replies=[{"text": "ok"}])
    agentflow.send("hi")
    everything = agentflow.events()
    for after in range(len(everything) + 1):
        assert agentflow.events(after_seq=after) == everything[after:]


def test_a_number_from_the_future_is_a_clear_error(agentflow: Kit) -> None:
    """B61."""
    agentflow.agent(replies=[{"text": "ok"}])
    agentflow.send("hi")
    with pytest.raises(InvalidInput, match="none after 999"):
        agentflow.events(after_seq=999)


def test_a_session_that_does_not_exist_has_no_events(agentflow: Kit) -> None:
    agentflow.agent()
    with pytest.raises(SessionNotFound):
        agentflow.events()


def test_a_turn_that_died_yields_a_terminal_event(agentflow: Kit) -> None:
    """T42: a turn that ended, or died, always yields its terminal event; T29: a read never writes."""
    agentflow.agent(replies=[{"text": "never"}])
    agentflow.kill_after(1)
    with pytest.raises(Exception, match="killed"):
        agentflow.send("hi", turn_id="t-1")
    agentflow.reopen()
    events = agentflow.run(followed(agentflow, "t-1"))
    assert (events[-1].type, events[-1].data["aborted"], events[-1].seq) == ("done", True, None)
    assert agentflow.status()["status"] == "aborted"
    assert agentflow.events("done") == []
    agentflow.send("again")
    assert [event.data["aborted"] for event in agentflow.events("done")] == [True, False]


def test_the_events_of_a_turn_are_that_turns_alone(agentflow: Kit) -> None:
    """T42: whatever other turns, moves and queue entries stand between, live and from the log, by any name of it."""
    gate = Gate({"text": "one"}, {"text": "two"}, {"text": "three"})
    agentflow.agent(replies=gate)
    first = agentflow.submit({**said_by_user("first"), "turn_id": "t-1"})
    for turn_id in ("t-2", "t-3"):
        agentflow.submit({**said_by_user(turn_id), "turn_id": turn_id, "queue": "merge"})
    gate.open()

    async def told(turn_id: str) -> list[Event]:
        return [event async for event in agentflow.runtime.events("s-1", first.after_seq, turn_id)]

    live = agentflow.run(told("t-3"))
    agentflow.run(agentflow.runtime.checkout("s-1", agentflow.path()[0]["id"]))
    for turn_id in ("t-1", "t-2", "t-3"):
        logged = agentflow.run(told(turn_id))
        own = "t-1" if turn_id == "t-1" else "t-2"
        assert [event for event in logged if event.turn_id != own and event.data.get("turn_id") != own] == []
        assert logged[-1].type == "done"
        assert len([event for event in logged if event.type == "turn.started"]) == 1
    assert [event.seq for event in live if event.seq] == [event.seq for event in agentflow.run(told("t-3"))]
    assert [event.data["turn_id"] for event in live if event.type == "turn.queued"] == ["t-2", "t-2"]


def said_by_user(text: str) -> dict[str, Any]:
    return {"type": "client.message", "message": {"role": "user", "content": text}}


def test_a_turn_that_begins_while_it_is_looked_for_is_not_told_dead(agentflow: Kit, monkeypatch: Any) -> None:
    """T42: its reader learns that nobody runs, and then that the turn waits no more; in between it began elsewhere."""
    agentflow.agent(replies=Gate({"text": "never"}))
    agentflow.submit({**MESSAGE, "turn_id": "t-1"})
    agentflow.submit({**MESSAGE, "turn_id": "t-2", "queue": True})
    agentflow.kill()
    agentflow.reopen()
    agentflow.script(lambda request: {"text": "All quiet."})
    other = agentflow.another_runtime()
    reads: list[object] = []
    session = other._store.session

    async def begun_elsewhere(session_id: str) -> Any:
        record = await session(session_id)
        reads.append(record)
        if len(reads) == 2:
            await agentflow.runtime.submit("s-1", MESSAGE)
            await agentflow.runtime.result("s-1", "t-2")
        return record

    async def read() -> list[Event]:
        return [event async for event in other.events("s-1", 0, "t-2")]

    monkeypatch.setattr(other._store, "session", begun_elsewhere)
    done = agentflow.run(read())[-1]
    assert (done.type, done.data["answer"], done.seq is None) == ("done", "All quiet.", False)
