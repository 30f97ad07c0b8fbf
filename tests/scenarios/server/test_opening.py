"""The application from opening to closing: by itself, mounted, and in the hands of other servers (S1, S2)."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI

from agentflow import Runtime
from agentflow.models.protocol import Delta, ModelRequest
from agentflow.server import create_app, lifespan
from agentflow.server.app import App
from tests.asgi import Client, frames

RUN = {"agent_id": "echo", "session_id": "s/1", "message": "Hi."}


@pytest.fixture
def app(tmp_path: Path) -> App:
    folder = tmp_path / "agents" / "echo"
    folder.mkdir(parents=True)
    script = "replies: [{text: Hello., chunk_size: 1, delay_secs: 0.05, repeat: true}]\n"
    (folder / "agent.yaml").write_text("name: echo\nmodel: scripted/hi.yaml\nsettings: {name_chats: false}\n")
    (folder / "hi.yaml").write_text(script)
    return create_app(tmp_path, db=f"sqlite:///{tmp_path}/a.db")


@asynccontextmanager
async def by_protocol(app: Any) -> AsyncIterator[None]:
    """As a server opens an application: by the ASGI lifespan."""
    asked: asyncio.Queue[dict[str, str]] = asyncio.Queue()
    told: asyncio.Queue[dict[str, str]] = asyncio.Queue()

    async def send(message: dict[str, str]) -> None:
        await told.put(message)

    task = asyncio.create_task(app({"type": "lifespan"}, asked.get, send))
    await asked.put({"type": "lifespan.startup"})
    assert await told.get() == {"type": "lifespan.startup.complete"}
    yield
    await asked.put({"type": "lifespan.shutdown"})
    assert await told.get() == {"type": "lifespan.shutdown.complete"}
    await task


def test_an_application_by_itself_opens_and_closes_with_its_lifespan(app: App) -> None:
    async def life() -> None:
        client = Client(app)
        assert (await client.ask("POST", "/api/v1/run", RUN)).code == "runtime_not_open"
        async with by_protocol(app):
            answer = await client.ask("POST", "/api/v1/run", {**RUN, "stream": False})
            assert answer.json["answer"] == "Hello."
        assert app.serving is None

    asyncio.run(life())


def test_a_mounted_application_is_opened_by_its_host_and_keeps_its_prefix(app: App) -> None:
    """F10, F21: without the lifespan it says what is missing; with it addresses begin where it is mounted."""

    async def life() -> None:
        host = FastAPI(lifespan=lambda _: lifespan(app))
        host.mount("/flow", app)
        client = Client(host)
        assert (await client.ask("GET", "/flow/healthz")).status == 200
        assert (await client.ask("POST", "/flow/api/v1/run", RUN)).code == "runtime_not_open"
        async with by_protocol(host):
            answer = await client.ask("POST", "/flow/api/v1/run", RUN)
            where = str(answer.header("location"))
            assert where.startswith("/flow/api/v1/sessions/s%2F1/turns/")
            assert (await client.ask("GET", where)).json["state"] == "done"
            assert (await client.ask("GET", "/flow/readyz")).json == {"status": "ready"}
            assert (await client.ask("GET", "/flow/nothing")).code == "route_not_found"
            openapi = (await client.ask("GET", "/flow/openapi.json")).json
            assert "/api/v1/run" in openapi["paths"]

    asyncio.run(life())


def test_a_signal_to_whoever_serves_it_ends_idle_streams_before_the_lifespan(app: App) -> None:
    """S2: uvicorn and gunicorn wait for open streams first; the former handler is called too."""
    heard: list[int] = []

    async def life() -> bytes:
        async with lifespan(app):
            client = Client(app)
            await client.ask("POST", "/api/v1/run", RUN)
            target = "/api/v1/sessions/s%2F1/events?follow=true"
            async with client.stream("GET", target, None, [("accept", "text/event-stream")]) as stream:
                await stream.until(b"event: done")
                signal.raise_signal(signal.SIGTERM)
                return (await stream.end()).body

    former = signal.signal(signal.SIGTERM, lambda number, _: heard.append(number))
    try:
        assert asyncio.run(life()).endswith(b": the server closes\n\n")
        assert heard == [signal.SIGTERM]
    finally:
        signal.signal(signal.SIGTERM, former)


def test_a_turn_has_time_to_end_and_its_reader_reads_to_the_end(app: App) -> None:
    """S2, T26: the reader's stream, the turn, then the server."""

    async def life() -> bytes:
        async with lifespan(app), Client(app).stream("POST", "/api/v1/run", RUN) as stream:
            await stream.until(b"llm.delta")
            assert app.serving is not None
            app.serving.drain_soon()
            return (await stream.end()).body

    told = frames(asyncio.run(life()))
    assert told[-1]["event"] == "done"
    assert '"answer":"Hello."' in told[-1]["data"]


def test_it_is_ready_only_when_every_agent_of_the_project_can_run(app: App, tmp_path: Path) -> None:
    """S4: whoever asks is not told which agent or why, for they need no key."""
    (tmp_path / "agents" / "wrong").mkdir()
    (tmp_path / "agents" / "wrong" / "agent.yaml").write_text("name: wrong\nmodel: scripted/secret-name.yaml\n")

    async def life() -> None:
        async with lifespan(app):
            answer = await Client(app).ask("GET", "/readyz")
            assert answer.status == 503
            assert answer.json == {"status": "unready", "why": "an agent of the project cannot run"}
            (tmp_path / "agents" / "wrong" / "agent.yaml").unlink()
            assert (await Client(app).ask("GET", "/readyz")).status == 200

    asyncio.run(life())


def test_models_that_have_to_be_loaded_are_loaded_before_the_first_turn(app: App) -> None:
    """S4: a model that two interfaces share is loaded once."""
    ended = asyncio.Event()
    model = Slow(ended)
    runtime = Runtime.open(app.settings.project, db=app.settings.db, open_model=lambda *_: model)

    async def life() -> None:
        async with lifespan(App(app.settings, lambda: runtime)):
            assert (await Client(app).ask("GET", "/healthz")).status == 200
            await asyncio.wait_for(ended.wait(), 5)
        assert model.loads == 1

    asyncio.run(life())


class Slow:
    """A model that has to be loaded first; nobody calls it here."""

    name, scripted, own_timeout_secs, parameters, reads = "slow/one", False, None, {}, frozenset[str]()

    def __init__(self, ended: asyncio.Event) -> None:
        self.loads, self._ended = 0, ended

    def is_loaded(self) -> bool:
        return self.loads > 0

    async def load(self) -> None:
        self.loads += 1
        self._ended.set()

    async def close(self) -> None: ...

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
        raise NotImplementedError
        yield
