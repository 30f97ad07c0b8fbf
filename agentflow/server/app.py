"""The ASGI application: every request is checked by its head, then handed to the routes; every error is a problem."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from urllib.parse import quote

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agentflow import AgentflowError, Runtime
from agentflow.server.access.body_limits import check_body, limited
from agentflow.server.access.credentials import subject_of
from agentflow.server.access.cross_origin import answer_headers, preflight
from agentflow.server.access.headers import Headers, headers_of
from agentflow.server.access.host import LOOPBACK, check_host
from agentflow.server.access.origin import check_origin, check_proxy
from agentflow.server.api import api, unexpected
from agentflow.server.call import IN_SCOPE, Call
from agentflow.server.opening import answer_lifespan
from agentflow.server.problems import Refusal, problem
from agentflow.server.routes.health import healthz, readyz
from agentflow.server.serving import Serving
from agentflow.server.settings import Settings, read_settings

_log = logging.getLogger("agentflow.server")
_ALWAYS = ((b"x-content-type-options", b"nosniff"),)
_UNLESS_SAID = (b"cache-control", b"no-store")


def create_app(
    project: str | Path = ".",
    *,
    db: str | None = None,
    hosts: Sequence[str] = (),
    origins: Sequence[str] = (),
    open: bool = False,
) -> App:
    """The server of a project's sessions, for uvicorn, gunicorn or `host.mount(...)`.

    `db` is as `Runtime.open` takes it. `hosts` are names it answers to beside those of loopback, `origins` whose pages
    may call it from elsewhere. The key comes from `AGENTFLOW_API_KEY`; without one it answers on loopback only, unless
    `open` says that everybody may do everything. A mounted app is opened by its host's lifespan:
    `agentflow.server.lifespan(app)`. Raises `InvalidConfig`.
    """
    return app_of(read_settings(project, db=db, hosts=hosts, origins=origins, open=open))


def app_of(settings: Settings) -> App:
    """The application of these settings."""
    return App(settings, lambda: Runtime.open(settings.project, db=settings.db, drain=True))


class App:
    """The application; `serving` is what it serves with while its lifespan lasts, else null."""

    def __init__(self, settings: Settings, open_runtime: Callable[[], Runtime]) -> None:
        self.settings = settings
        self.open_runtime = open_runtime
        self.serving: Serving | None = None
        self._hosts = frozenset((*LOOPBACK, *(name.lower().rstrip(".") for name in settings.hosts)))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await answer_lifespan(self, receive, send)
        elif scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1000})

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = headers_of(scope)
        answer = _Answer(send, [*_ALWAYS, *answer_headers(headers, self.settings.origins)])
        try:
            await self._answer(scope, headers, receive, answer)
        except AgentflowError as error:
            if answer.is_begun:
                _log.error("an answer that had begun could not be ended: %s", error)
                return
            await problem(error)(scope, receive, answer)
        except Exception as fault:
            if not answer.is_begun:
                await unexpected(fault)(scope, receive, answer)

    async def _answer(self, scope: Scope, headers: Headers, receive: Receive, send: Send) -> None:
        settings, method = self.settings, scope["method"]
        path, encoded = _paths(scope)
        check_host(headers, scope["path"], self._allowed_hosts())
        if (allowed := preflight(headers, method, settings.origins)) is not None:
            await _no_content(send, allowed)
            return
        if path in ("/healthz", "/readyz") and method == "GET":
            await (healthz() if path == "/healthz" else await readyz(self.serving))(scope, receive, send)
            return
        if not settings.keys:
            check_proxy(headers)
            check_origin(headers, method, path, f"{scope['scheme']}://{headers.one('host')}", settings.origins)
        subject = subject_of(scope, headers, settings)
        check_body(headers)
        if self.serving is None:
            raise Refusal(
                "runtime_not_open",
                "The runtime is not open: the host's lifespan has to enter agentflow.server.lifespan(app).",
            )
        prefix = scope.get("root_path", "")
        call = Call(settings, self.serving, subject, prefix)
        inner = {**scope, "path": f"{prefix}{encoded}", IN_SCOPE: call}
        await routes()(inner, limited(receive), send)

    def _allowed_hosts(self) -> frozenset[str] | None:
        """Names a request may ask for; a server with a key and no names of its own has any (its address is its own)."""
        return None if self.settings.keys and not self.settings.hosts else self._hosts


async def _no_content(send: Send, headers: Sequence[tuple[bytes, bytes]]) -> None:
    await send({"type": "http.response.start", "status": 204, "headers": list(headers)})
    await send({"type": "http.response.body", "body": b""})


def _paths(scope: Scope) -> tuple[str, str]:
    """The path below the place where the app is mounted: as it is meant, and as it came, percent-encoded.

    A name in it may have a slash of its own, so it is taken apart as it came.
    """
    root = scope.get("root_path", "")
    path = scope["path"].removeprefix(root)
    raw = scope.get("raw_path")
    if raw is None:
        return path, quote(path)
    segments = raw.decode("latin-1").split("/")
    return path, "/" + "/".join(segments[root.count("/") + 1 :])


@cache
def routes() -> ASGIApp:
    """The routes; every server has the same."""
    return api()


class _Answer:
    """Sends an answer with what every answer has, and knows whether it has begun."""

    def __init__(self, send: Send, headers: Sequence[tuple[bytes, bytes]]) -> None:
        self._send = send
        self._headers = headers
        self.is_begun = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.is_begun = True
            said = [*message.get("headers", []), *self._headers]
            if all(name.lower() != _UNLESS_SAID[0] for name, _ in said):
                said.append(_UNLESS_SAID)
            message = {**message, "headers": said}
        await self._send(message)
