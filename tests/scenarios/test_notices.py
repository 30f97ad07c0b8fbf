"""What one process writes, another hears of at once (S3)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agentflow import Event, Runtime
from agentflow.models.protocol import FinishReason, TextDelta
from agentflow.reading import stream
from agentflow.testing import Kit
from agentflow.turn.calls import model_stream
from tests.both_databases import on_both_databases
from tests.scenarios.support import Deltas, Gate

MESSAGE = {"type": "client.message", "message": {"role": "user", "content": "hi"}}


agentflow_db = on_both_databases


@pytest.fixture
def deaf(monkeypatch: pytest.MonkeyPatch) -> None:
    """Readers that never look by themselves once they are told of what happens."""
    monkeypatch.setattr(stream, "NET_SECS", 1e6)


async def heard(runtime: Runtime) -> None:
    """Until the other processes are heard."""
    while not runtime._store.notices.are_heard:  # noqa: ASYNC110  # a thread of the store says so
        await asyncio.sleep(0)


@pytest.mark.usefixtures("deaf")
def test_a_reader_elsewhere_is_woken_by_each_commit(agentflow: Kit) -> None:
    """S3: it follows a turn that begins after it has come, to its end, and the next one."""
    gate = Gate({"text": "one"}, {"text": "two"})
    agentflow.agent(replies=gate)
    gate.open()
    agentflow.send("first")
    other, after = agentflow.another_runtime(), len(agentflow.events())

    async def read() -> list[Event]:
        async with asyncio.timeout(30):
            return await follow()

    async def follow() -> list[Event]:
        events: list[Event] = []
        following = other.events("s-1", after, follow=True)
        first = asyncio.ensure_future(anext(following))
        await heard(other)
        await agentflow.runtime.submit("s-1", MESSAGE)
        events.append(await first)
        async for event in following:
            events.append(event)
            if event.type == "done":
                return events
        raise AssertionError

    events = agentflow.run(read())
    logged = [event for event in events if event.seq is not None]
    assert [event.as_dict() for event in logged] == [event.as_dict() for event in agentflow.events()[after:]]


@pytest.mark.usefixtures("deaf")
def test_pieces_of_a_reply_come_to_a_reader_elsewhere(agentflow: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    """S3: what was said before it came first; on SQLite what was last kept of it."""
    monkeypatch.setattr(model_stream, "CHECKPOINT_SECS", 0)
    go_on = asyncio.Event()
    agentflow.agent(model=Deltas([TextDelta("ab"), TextDelta("cd"), go_on, TextDelta("ef"), FinishReason("stop")]))
    receipt = agentflow.submit(MESSAGE)
    agentflow.until("llm.delta")
    other = agentflow.another_runtime()

    async def read() -> list[dict[str, Any]]:
        said = []
        async for event in other.events("s-1", receipt.after_seq, receipt.turn_id):
            if event.type == "llm.delta":
                said.append(event.data)
                if event.data["offset"] + len(event.data["text"]) == 4:
                    go_on.set()
        return said

    said = agentflow.run(read())
    text = ""
    for data in said:
        assert data["offset"] == len(text)
        text += data["text"]
    assert text in ("abcd", "abcdef")
