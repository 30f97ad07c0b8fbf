"""A client that speaks ASGI to an application: whole answers, and streams read as they come."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import chain
from typing import Any
from urllib.parse import unquote

Pairs = Iterable[tuple[str, str]]
HOST = "127.0.0.1:8080"


@dataclass
class Answer:
    """What was answered so far."""

    status: int = 0
    headers: list[tuple[str, str]] = field(default_factory=list)
    body: bytes = b""
    is_whole: bool = False

    def header(self, name: str) -> str | None:
        """The only value of this name, null when there is none."""
        values = [value for given, value in self.headers if given == name]
        assert len(values) < 2, values
        return values[0] if values else None

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        """The code of a problem."""
        assert self.header("content-type") == "application/problem+json", self.body
        assert self.json["status"] == self.status
        assert self.json["type"].endswith(":" + self.json["code"])
        return str(self.json["code"])


class Stream:
    """An answer that goes on; what is not read is not taken from the application."""

    def __init__(self, client: Client) -> None:
        self.answer = Answer()
        self._client = client
        self._left = asyncio.Event()
        self._readable = asyncio.Event()
        self._readable.set()
        self._news = asyncio.Event()
        self.task: asyncio.Task[None] | None = None

    def stop_reading(self) -> None:
        self._readable.clear()

    def leave(self) -> None:
        """The connection is closed from this side."""
        self._left.set()

    async def until(self, text: bytes) -> bytes:
        """What has come, once it has this text in it."""
        while text not in self.answer.body:
            assert not self.answer.is_whole, self.answer.body
            self._news.clear()
            await self._news.wait()
        return self.answer.body

    async def end(self) -> Answer:
        """The whole answer."""
        assert self.task is not None
        await self.task
        return self.answer

    async def send(self, message: Mapping[str, Any]) -> None:
        await self._readable.wait()
        if message["type"] == "http.response.start":
            self.answer.status = message["status"]
            self.answer.headers = [(name.decode(), value.decode("latin-1")) for name, value in message["headers"]]
        else:
            self.answer.body += message.get("body", b"")
            self.answer.is_whole = not message.get("more_body", False)
        self._news.set()


class Client:
    """Asks an application as a server would hand it requests from `server`."""

    def __init__(self, app: Any, *, server: tuple[str, int | None] = ("127.0.0.1", 8080), headers: Pairs = ()) -> None:
        self.app = app
        self.server = server
        self.headers = list(headers)

    async def ask(
        self, method: str, target: str, given: Any = None, headers: Pairs = (), *, body: Iterable[bytes] | None = None
    ) -> Answer:
        """One request and its whole answer; `given` goes as JSON, `body` as it is, piece by piece."""
        async with self.stream(method, target, given, headers, body=body) as stream:
            return await stream.end()

    @asynccontextmanager
    async def stream(
        self, method: str, target: str, given: Any = None, headers: Pairs = (), *, body: Iterable[bytes] | None = None
    ) -> AsyncIterator[Stream]:
        """The same answer while it comes; leaving the block closes the connection."""
        pieces = body if body is not None else () if given is None else (json.dumps(given).encode(),)
        said = list(self.headers) + list(headers)
        if given is not None:
            said.append(("content-type", "application/json"))
        if body is not None or given is not None:
            said.append(("transfer-encoding", "chunked"))
        stream = Stream(self)
        stream.task = asyncio.create_task(
            self.app(self._scope(method, target, said), self._receiver(pieces, stream), stream.send)
        )
        try:
            yield stream
        finally:
            stream.leave()
            await stream.task

    def _scope(self, method: str, target: str, headers: Pairs) -> dict[str, Any]:
        path, _, query = target.partition("?")
        said = [(name.lower().encode(), value.encode("latin-1")) for name, value in headers]
        if not any(name == b"host" for name, _ in said):
            said.append((b"host", HOST.encode()))
        return {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "scheme": "http",
            "path": unquote(path), "raw_path": path.encode(), "query_string": query.encode(), "root_path": "",
            "headers": [pair for pair in said if pair != (b"host", b"")], "client": ("127.0.0.1", 5),
            "server": self.server,
        }  # fmt: skip

    def _receiver(self, pieces: Iterable[bytes], stream: Stream) -> Any:
        more = ({"type": "http.request", "body": piece, "more_body": True} for piece in pieces)
        waiting = chain(more, [{"type": "http.request", "body": b"", "more_body": False}])

        async def receive() -> dict[str, Any]:
            for message in waiting:
                return message
            await stream._left.wait()
            return {"type": "http.disconnect"}

        return receive


def frames(body: bytes) -> list[dict[str, str]]:
    """The frames of a stream, by the standard's own rules: lines end by CR, LF or both, and by nothing else."""
    text = body.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    found: list[dict[str, str]] = []
    for block in text.split("\n\n"):
        fields: dict[str, str] = {}
        for line in block.split("\n"):
            name, colon, value = line.partition(":")
            if name and colon:
                value = value.removeprefix(" ")
                fields[name] = f"{fields[name]}\n{value}" if name == "data" and name in fields else value
        if "data" in fields:
            found.append(fields)
    return found
