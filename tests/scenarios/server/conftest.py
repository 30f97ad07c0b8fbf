"""A server in the hand of a test: the routes over the kit's own runtime, without a socket."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any, TypeVar

import pytest

from agentflow.server.app import App
from agentflow.server.serving import Serving
from agentflow.server.settings import Settings
from agentflow.testing import Kit
from tests.asgi import Answer, Client, Pairs

T = TypeVar("T")


class Server:
    """Asks the server of a kit; its loop runs inside each call only."""

    def __init__(self, kit: Kit, settings: Settings, headers: Pairs = ()) -> None:
        self.kit = kit
        self.app = App(settings, lambda: kit.runtime)
        self.client = Client(self.app, headers=headers)
        self.open()

    def open(self) -> None:
        """Serve the kit's runtime as it is now."""
        kit = self.kit

        async def serving() -> Serving:
            return Serving(kit.runtime, 0.0)

        self.app.serving = kit.run(serving())

    def ask(self, method: str, target: str, given: Any = None, headers: Pairs = (), **more: Any) -> Answer:
        return self.kit.run(self.client.ask(method, target, given, headers, **more))

    def get(self, target: str, headers: Pairs = ()) -> Answer:
        return self.ask("GET", f"/api/v1{target}", None, headers)

    def post(self, target: str, given: Any = None, headers: Pairs = ()) -> Answer:
        return self.ask("POST", f"/api/v1{target}", given, headers)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.kit.run(work)


@pytest.fixture
def serve(agentflow: Kit) -> Callable[..., Server]:
    """`serve(headers=[...], keys=(...), ...)`: the kit's server with these settings."""

    def started(headers: Pairs = (), **settings: Any) -> Server:
        return Server(agentflow, replace(Settings(agentflow.project), **settings), headers)

    return started


@pytest.fixture
def server(serve: Callable[..., Server]) -> Server:
    """The kit's server, open to everybody on this machine."""
    return serve()
