"""From opening to closing: the runtime, what is swept meanwhile, and the end of streams and turns (S1, S2, S4)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Protocol

from starlette.types import Receive, Send

from agentflow import AgentflowError, Runtime
from agentflow.server.serving import Serving
from agentflow.server.settings import Settings
from agentflow.server.shutdown import ShutdownWatch
from agentflow.server.sweeping import sweep

_log = logging.getLogger("agentflow.server")


class Opened(Protocol):
    """An application that can be opened; `agentflow.server.App` is one."""

    settings: Settings
    serving: Serving | None

    def open_runtime(self) -> Runtime: ...


@asynccontextmanager
async def lifespan(app: Opened) -> AsyncIterator[None]:
    """While it is entered the app serves; a host that mounts the app enters it in its own lifespan (S1).

    Raises what `Runtime.open` raises. A signal that ends the process begins the drain at once, whoever has the signals.
    """
    async with app.open_runtime() as runtime:
        serving = Serving(runtime, app.settings.drain_secs)
        app.serving = serving
        beside = [asyncio.create_task(work) for work in (sweep(runtime), _load_models(runtime))]
        try:
            with ShutdownWatch(serving.drain_soon):
                yield
        finally:
            for task in beside:
                task.cancel()
            await serving.drain()
            app.serving = None


async def _load_models(runtime: Runtime) -> None:
    """Before a first turn asks for it (S4); a turn that finds it not loaded loads it itself and tells what failed."""
    try:
        await runtime.catalog.load_models()
    except AgentflowError as error:
        _log.warning("models could not be loaded before they are needed: %s", error)


async def answer_lifespan(app: Opened, receive: Receive, send: Send) -> None:
    """The ASGI lifespan of an app that is served by itself."""
    await receive()
    async with AsyncExitStack() as stack:
        try:
            await stack.enter_async_context(lifespan(app))
        except AgentflowError as error:
            await send({"type": "lifespan.startup.failed", "message": str(error)})
            return
        await send({"type": "lifespan.startup.complete"})
        await receive()
    await send({"type": "lifespan.shutdown.complete"})
