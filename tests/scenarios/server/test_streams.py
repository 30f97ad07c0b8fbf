"""Streams of events: resumed at every place, ended, dropped (S6)."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from agentflow import Event
from agentflow.models.protocol import FinishReason, TextDelta
from agentflow.server import serving as serving_module
from agentflow.server.streams import event_stream
from agentflow.testing import Kit
from tests.asgi import Stream, frames
from tests.scenarios.server.conftest import Server
from tests.scenarios.support import Deltas

STREAM = ("accept", "text/event-stream")
EVENTS = "/api/v1/sessions/s-1/events"


def logged(body: bytes) -> list[tuple[str, Any]]:
    return [(each["id"], json.loads(each["data"])) for each in frames(body) if "id" in each]


def test_a_stream_cut_after_any_event_goes_on_without_gap_or_double(agentflow: Kit, server: Server) -> None:
    """F08."""
    agentflow.agent(replies=[{"text": "Hello."}])
    agentflow.send("Hi.")
    whole = logged(server.get("/sessions/s-1/events", [STREAM]).body)
    assert [event["seq"] for _, event in whole] == list(range(1, len(whole) + 1))
    for place, (cursor, _) in enumerate(whole, 1):
        rest = server.get("/sessions/s-1/events?after=3", [STREAM, ("last-event-id", cursor)])
        assert logged(rest.body) == whole[place:]


def test_a_cursor_of_an_erased_session_is_told_so(agentflow: Kit, server: Server) -> None:
    """R12, F08: the new log may be longer than the old one."""
    agentflow.agent(replies=[{"text": "Hello.", "repeat": True}])
    agentflow.send("Hi.")
    cursor = logged(server.get("/sessions/s-1/events", [STREAM]).body)[-1][0]
    agentflow.run(agentflow.runtime.delete("s-1"))
    for text in ("Hi.", "And again."):
        agentflow.send(text, agent_id="test")
    told = frames(server.get("/sessions/s-1/events", [STREAM, ("last-event-id", cursor)]).body)
    assert (told[0]["event"], "id" in told[0]) == ("resync", False)
    assert told[1]["id"].startswith("1-")


def test_a_reader_that_comes_late_gets_what_was_said_so_far(agentflow: Kit, server: Server) -> None:
    go_on = asyncio.Event()
    agentflow.agent(model=Deltas([TextDelta("ab"), TextDelta("cd"), go_on, TextDelta("ef"), FinishReason("stop")]))
    server.open()
    receipt = agentflow.submit({"type": "client.message", "message": {"role": "user", "content": "Hi."}})

    async def read() -> bytes:
        async with server.client.stream("GET", f"{EVENTS}?turn_id={receipt.turn_id}", None, [STREAM]) as first:
            await first.until(b'"text":"')
            async with server.client.stream("GET", f"{EVENTS}?turn_id={receipt.turn_id}", None, [STREAM]) as late:
                await late.until(b'"text":"')
                go_on.set()
                return (await late.end()).body

    deltas = [json.loads(each["data"])["data"] for each in frames(server.run(read())) if each["event"] == "llm.delta"]
    assert [each["offset"] for each in deltas] == [
        sum(len(one["text"]) for one in deltas[:n]) for n in range(len(deltas))
    ]
    assert "".join(each["text"] for each in deltas) == "abcdef"


def test_a_followed_session_goes_on_from_turn_to_turn_and_ends_with_it(agentflow: Kit, server: Server) -> None:
    """S6, S10: the stream of a session that is erased says so."""
    agentflow.agent(replies=[{"text": "One."}, {"text": "Two."}])
    agentflow.send("Hi.")

    async def read() -> bytes:
        async with server.client.stream("GET", f"{EVENTS}?follow=true", None, [STREAM]) as stream:
            await stream.until(b"One.")
            await agentflow.runtime.run("s-1", "test", "And?")
            await stream.until(b'"answer":"Two."')
            await agentflow.runtime.delete("s-1")
            return (await stream.end()).body

    body = server.run(read())
    assert frames(body)[-1] == {"event": "closed", "data": '{"reason":"session_deleted"}'}


def test_pages_have_the_log_and_where_they_go_on(agentflow: Kit, server: Server) -> None:
    agentflow.agent(replies=[{"text": "Hello."}])
    agentflow.send("Hi.")
    found: list[Any] = []
    page: dict[str, Any] = {"more": True, "after": 0}
    while page["more"]:
        page = server.get(f"/sessions/s-1/events?after={page['after']}&page_size=5").json
        found += page["events"]
    assert found == [event.as_dict() for event in agentflow.events()]
    assert server.get("/sessions/s-1/events?after=-1").json["errors"][0]["parameter"] == "after"
    assert server.get("/sessions/nobody/events", [STREAM]).code == "session_not_found"
    assert server.get("/sessions/s-1/events?turn_id=nobody", [STREAM]).code == "turn_not_found"


def test_a_stream_is_kept_alive_and_ends_when_the_server_closes(
    agentflow: Kit, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S2, S6: comments, which no reader takes for an event; the place among a subject's streams is free again."""
    agentflow.agent(replies=[{"text": "Hello."}])
    agentflow.send("Hi.")
    monkeypatch.setattr(event_stream, "ALIVE_SECS", 0.02)
    serving = server.app.serving
    assert serving is not None

    async def read() -> bytes:
        async with server.client.stream("GET", f"{EVENTS}?follow=true", None, [STREAM]) as stream:
            await stream.until(b": still here\n\n: still here\n\n")
            await serving.drain()
            return (await stream.end()).body

    assert server.run(read()).endswith(b": the server closes\n\n")
    server.run(serving.streams_end())


def test_a_reader_that_leaves_frees_its_place_and_its_tasks(
    agentflow: Kit, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S11, F22."""
    agentflow.agent(replies=[{"text": "Hello."}])
    agentflow.send("Hi.")
    monkeypatch.setattr(serving_module, "MOST_STREAMS", 2)

    async def read() -> set[asyncio.Task[Any]]:
        before = asyncio.all_tasks()
        for _ in range(5):
            async with server.client.stream("GET", f"{EVENTS}?follow=true", None, [STREAM]) as one:
                await one.until(b"done")
                async with server.client.stream("GET", f"{EVENTS}?follow=true", None, [STREAM]) as two:
                    await two.until(b"done")
                    third = await server.client.ask("GET", EVENTS, None, [STREAM])
                    assert (third.status, third.code, third.header("retry-after")) == (429, "too_many_streams", "5")
        return asyncio.all_tasks() - before

    assert server.run(read()) == set()


def test_a_reader_that_does_not_read_is_dropped_and_slows_nobody(
    agentflow: Kit, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S6: by what waits for it, or by one write that hangs."""
    agentflow.agent(replies=[{"text": "x" * 400_000}])
    monkeypatch.setattr(event_stream, "FULL_SECS", 0.05)
    agentflow.send("Hi.")

    async def read() -> Stream:
        async with server.client.stream("GET", f"{EVENTS}?follow=true", None, [STREAM]) as stuck:
            stuck.stop_reading()
            answer = await server.client.ask("GET", EVENTS, None, [STREAM])
            assert frames(answer.body)[-1]["event"] == "done"
            assert stuck.task is not None
            await stuck.task
            return stuck

    assert not server.run(read()).answer.is_whole


def test_a_turns_events_are_those_of_python(agentflow: Kit, server: Server) -> None:
    """T42: with the failure of a turn under a name that browsers leave alone."""
    agentflow.agent(replies=[{"error": {"kind": "bad_request"}}])
    turn_id = agentflow.send("Hi.").turn_id

    async def told() -> list[Event]:
        return [event async for event in agentflow.runtime.events("s-1", 0, turn_id)]

    read = frames(server.get(f"/sessions/s-1/events?turn_id={turn_id}", [STREAM]).body)
    assert [json.loads(each["data"]) for each in read] == [event.as_dict() for event in agentflow.run(told())]
    assert "turn.error" in [each["event"] for each in read]
