"""`agentflow serve`: a socket, uvicorn, and the signals that end it in order (S1, S2)."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
from collections.abc import Callable, Iterator
from types import FrameType, TracebackType
from typing import Self

import uvicorn

from agentflow import InvalidConfig
from agentflow.server.access.host import is_loopback
from agentflow.server.app import App
from agentflow.server.opening import lifespan
from agentflow.server.settings import API_KEY, Settings

_HEADER_BYTES = 65_536
_UVICORN_SECS = 1


class _Server(uvicorn.Server):
    """uvicorn without its signals, which says when it listens."""

    def __init__(self, config: uvicorn.Config, listens: Callable[[], None]) -> None:
        super().__init__(config)
        self._listens = listens

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._listens()


def serve(app: App, host: str, port: int, listens: Callable[[str], None]) -> int:
    """Serve until a signal ends it; the exit code. `listens` is told the address once requests are taken.

    The first SIGINT or SIGTERM drains, a second ends the process at once. Raises `InvalidConfig` for an address that
    needs a key and has none or an agent of the project that cannot run, `StoreError` for a database that is away, and
    `OSError` for a port in use.
    """
    refuse_open_address(app.settings, host)
    listener = _listener(host, port)
    address = f"http://{_shown(host)}:{listener.getsockname()[1]}"
    with listener:
        return asyncio.run(_serve(app, listener, lambda: listens(address)))


def refuse_open_address(settings: Settings, host: str) -> None:
    """Refuse to listen for other machines without a key."""
    if not settings.keys and not is_loopback((host, 0)):
        raise InvalidConfig(
            f"{host} can be reached from other machines, and there is no key: set {API_KEY}, or listen on 127.0.0.1."
        )


def _listener(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        raise OSError(error.errno, f"cannot listen on {host} port {port}: {error.strerror or error}") from None


def _shown(host: str) -> str:
    return f"[{host}]" if ":" in host else host


async def _serve(app: App, listener: socket.socket, listens: Callable[[], None]) -> int:
    config = uvicorn.Config(
        app, lifespan="off", log_config=None, access_log=False, proxy_headers=False, server_header=False,
        timeout_graceful_shutdown=_UVICORN_SECS, h11_max_incomplete_event_size=_HEADER_BYTES,
    )  # fmt: skip
    server = _Server(config, listens)
    with _Signals(app, server) as signals:  # before the lifespan, which hears of them too
        async with lifespan(app):
            await _refuse_invalid_project(app)
            await server.serve([listener])
    return 0 if signals.number is None else 128 + signals.number


async def _refuse_invalid_project(app: App) -> None:
    """Nobody finds out by a turn that an agent cannot run (S1)."""
    assert app.serving is not None
    if (complaint := await app.serving.runtime.catalog.complaint()) is not None:
        raise InvalidConfig(complaint)


class _Signals:
    """The first signal lets everything end in order, a second ends the process at once."""

    def __init__(self, app: App, server: uvicorn.Server) -> None:
        self.number: int | None = None
        self._app, self._server = app, server
        self._ending: asyncio.Task[None] | None = None

    def __enter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self._former = {each: signal.signal(each, self._on_signal) for each in (signal.SIGINT, signal.SIGTERM)}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for each, handler in self._former.items():
            signal.signal(each, handler)

    def _on_signal(self, number: int, _: FrameType | None) -> None:
        if self.number is not None:
            os._exit(128 + number)
        self.number = number
        self._loop.call_soon_threadsafe(self._begin)

    def _begin(self) -> None:
        self._ending = self._loop.create_task(self._end())

    async def _end(self) -> None:
        """The listener stays open while turns drain, so that new ones are refused in words (S2)."""
        serving = self._app.serving
        if serving is not None:
            await serving.drain()
            await serving.streams_end()
        self._server.should_exit = True
