"""What several scenarios need: the wire as pairs, rows of the database, and a model that says exactly these deltas."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any

from agentflow import Event, ModelRequest
from agentflow.models.protocol import Delta
from agentflow.testing import Kit


def said(request: ModelRequest) -> list[tuple[str, Any]]:
    """The messages of a request as `(role, content)`."""
    return [(message["role"], message["content"]) for message in request.messages]


def results(request: ModelRequest) -> list[str]:
    """The tool results a request ends with."""
    texts: list[str] = []
    for message in reversed(request.messages):
        if message["role"] != "tool":
            break
        texts.insert(0, message["content"])
    return texts


def call(name: str, **arguments: Any) -> dict[str, Any]:
    """A call in a scripted reply."""
    return {"name": name, "arguments": arguments}


Select = Callable[[str], list[tuple[Any, ...]]]


@contextmanager
def reading(db: str) -> Iterator[Select]:
    """A connection to the test's database, SQLite or Postgres."""
    if db.startswith("sqlite:///"):
        with closing(sqlite3.connect(db.removeprefix("sqlite:///").partition("?")[0])) as file:
            yield lambda query: file.execute(query).fetchall()
        return
    import psycopg

    with psycopg.connect(db.replace("postgresql+psycopg://", "postgresql://")) as server:
        yield lambda query: server.execute(query).fetchall()


def rows(db: str, query: str) -> list[tuple[Any, ...]]:
    """Rows of the test's database."""
    with reading(db) as select:
        return select(query)


class Gate:
    """Replies that wait until the test opens the gate: what happens until then happens during the turn."""

    def __init__(self, *replies: dict[str, Any]) -> None:
        self._replies = list(replies)
        self._opened = asyncio.Event()

    def open(self) -> None:
        self._opened.set()

    async def __call__(self, request: ModelRequest) -> dict[str, Any]:
        await self._opened.wait()
        return self._replies.pop(0)


class Deltas:
    """A model that streams these deltas, one list for each call; for what no script can say.

    With `held` it waits like a `Gate`; an event among the deltas is waited for.
    """

    name = "deltas"
    scripted = True

    def __init__(self, *streams: Sequence[Delta | asyncio.Event], held: bool = False) -> None:
        self.requests: list[ModelRequest] = []
        self._streams = list(streams)
        self._opened = asyncio.Event()
        if not held:
            self.open()

    def open(self) -> None:
        self._opened.set()

    async def close(self) -> None:
        """Nothing to release."""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta, None]:
        self.requests.append(request)
        await self._opened.wait()
        for delta in self._streams.pop(0):
            if isinstance(delta, asyncio.Event):
                await delta.wait()
            else:
                yield delta


def watched(kit: Kit, text: str, waiting: Gate | Deltas) -> list[Event]:
    """Send a text and watch its turn from the first event on, what is only streamed included."""
    receipt = kit.submit({"type": "client.message", "message": {"role": "user", "content": text}})

    async def watch() -> list[Event]:
        seen = []
        async for event in kit.runtime.events(receipt.session_id, receipt.after_seq, receipt.turn_id):
            seen.append(event)
            waiting.open()
        return seen

    return kit.run(watch())
