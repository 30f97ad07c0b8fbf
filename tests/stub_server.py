"""A model provider on loopback for tests: speaks the streams of OpenAI's chat completions and Anthropic's messages.

    async with StubServer([Answer(text="Hello"), Answer(status=429, error="slow down")]) as stub:
        LitellmModel(model="openai/any", api_base=stub.openai_base, api_key="test")
        LitellmModel(model="anthropic/any", api_base=stub.anthropic_base, api_key="test")

Which format is spoken follows from the path a request comes in on. Every request is kept in `stub.requests`. Like a
strict provider it refuses with 400 what breaks the rules of pairing or has an empty text (`refusal`). `serve_in_thread`
is the same for tests that are not asynchronous, or whose client is another process.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from tests.stub_formats import anthropic_events, openai_events, refusal


@dataclass(frozen=True)
class Call:
    """A tool call of an answer; `arguments` is raw text, sent in `pieces` fragments."""

    name: str
    arguments: str = "{}"
    id: str | None = None
    pieces: int = 2


@dataclass(frozen=True)
class Answer:
    """What the stub does with one request.

    `text` may be a list of pieces, one delta each. `usage` uses the words of `message.Usage` (input includes cached).
    `thinking` are Anthropic content blocks, sent first. `events` replaces all of it by raw JSON events. `cut` ends the
    connection before the finish: `end` closes the stream cleanly, `reset` breaks it. `hang` waits for ever before the
    first byte (`first`) or before the finish (`finish`). `late_error` is sent as an error event inside the 200 stream.
    `status` other than 200 answers with `error` as the message (or with that JSON object as the whole body).
    `raw` is the body itself, byte for byte, of the given `content_type`; nothing is added to it.
    """

    text: str | Sequence[str] = ""
    calls: Sequence[Call] = ()
    reasoning: Sequence[str] = ()
    thinking: Sequence[dict[str, Any]] = ()
    usage: dict[str, int] | None = field(default_factory=lambda: {"input": 11, "output": 7})
    finish: str | None = None
    events: Sequence[dict[str, Any]] | None = None
    cut: Literal["end", "reset"] | None = None
    hang: Literal["first", "finish"] | None = None
    late_error: dict[str, Any] | None = None
    delay_secs: float = 0.0
    status: int = 200
    error: str | dict[str, Any] = ""
    error_code: str | None = None
    headers: dict[str, str] = field(default_factory=dict)
    raw: bytes | None = None
    content_type: str = "text/event-stream"


@dataclass
class Received:
    """One request as it arrived; `gone` is set when the client has closed the connection, `left` for other threads."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    left: threading.Event = field(default_factory=threading.Event)

    @property
    def messages(self) -> list[dict[str, Any]]:
        messages: list[dict[str, Any]] = self.body["messages"]
        return messages


Answers = Sequence[Answer] | Callable[[dict[str, Any]], Answer]


class StubServer:
    """The server; `answers` are given in order, or by a function of the request's body."""

    def __init__(self, answers: Answers = (), *, strict: bool = True) -> None:
        self.answers: Answers = answers if callable(answers) else list(answers)
        self.requests: list[Received] = []
        self.asked = asyncio.Event()  # the first request is here
        self.strict = strict
        self.port = 0
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    @property
    def openai_base(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def anthropic_base(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def add(self, *answers: Answer) -> None:
        assert isinstance(self.answers, list)
        self.answers.extend(answers)

    async def __aenter__(self) -> StubServer:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        connections = list(self._connections)
        for task in connections:
            task.cancel()
        await asyncio.gather(*connections, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                await self._exchange(reader, writer)
        finally:
            self._connections.discard(task)
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        received = await _read_request(reader)
        self.requests.append(received)
        self.asked.set()
        answer = self._answer(received)
        tasks = {
            asyncio.create_task(_watch(reader, received)),
            asyncio.create_task(_send(writer, received, answer)),
        }
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _answer(self, received: Received) -> Answer:
        if self.strict and (complaint := refusal(received.path, received.body)):
            return Answer(status=400, error=complaint)
        if callable(self.answers):
            return self.answers(received.body)
        if not self.answers:
            return Answer(status=400, error="the stub has no answer left")
        assert isinstance(self.answers, list)
        answer: Answer = self.answers.pop(0)
        return answer


@contextlib.contextmanager
def serve_in_thread(answers: Answers = (), *, strict: bool = True) -> Iterator[StubServer]:
    """The stub on a loop of its own in another thread."""
    stub = StubServer(answers, strict=strict)
    ready = threading.Event()
    stop: list[Callable[[], object]] = []

    async def serve() -> None:
        async with stub:
            finished = asyncio.Event()
            loop = asyncio.get_running_loop()
            stop.append(lambda: loop.call_soon_threadsafe(finished.set))
            ready.set()
            await finished.wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    ready.wait()
    try:
        yield stub
    finally:
        stop[0]()
        thread.join()


async def _read_request(reader: asyncio.StreamReader) -> Received:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    path = head[0].split(" ")[1]
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Received(path, headers, json.loads(body) if body else {})


async def _watch(reader: asyncio.StreamReader, received: Received) -> None:
    with contextlib.suppress(ConnectionError):
        await reader.read(1)
    received.gone.set()
    received.left.set()


async def _send(writer: asyncio.StreamWriter, received: Received, answer: Answer) -> None:
    if answer.hang == "first":
        await asyncio.Event().wait()
    if answer.raw is not None:
        length = {} if answer.status == 204 else {"content-length": str(len(answer.raw))}
        headers = {"content-type": answer.content_type, **length, **answer.headers}
        writer.write(_head(answer.status, headers) + answer.raw)
        await writer.drain()
        return
    if answer.status != 200:
        await _send_error(writer, answer)
        return
    writer.write(_head(200, {"content-type": "text/event-stream", "transfer-encoding": "chunked", **answer.headers}))
    async for event in _events(received, answer):
        writer.write(b"%x\r\n%s\r\n" % (len(event), event))
        await writer.drain()
    if answer.cut != "reset":
        writer.write(b"0\r\n\r\n")
    await writer.drain()


async def _events(received: Received, answer: Answer) -> AsyncIterator[bytes]:
    anthropic = received.path.endswith("/messages")
    before, after = (anthropic_events if anthropic else openai_events)(answer)
    for event in before:
        if answer.delay_secs:
            await asyncio.sleep(answer.delay_secs)
        yield _sse(event, anthropic)
    if answer.hang == "finish":
        await asyncio.Event().wait()
    if answer.late_error is not None:
        yield _sse(answer.late_error, anthropic)
    elif answer.cut is None:
        for event in after:
            yield _sse(event, anthropic)
        if not anthropic:
            yield b"data: [DONE]\n\n"


def _sse(event: dict[str, Any], anthropic: bool) -> bytes:
    name = f"event: {event['type']}\n" if anthropic else ""
    return f"{name}data: {json.dumps(event)}\n\n".encode()


async def _send_error(writer: asyncio.StreamWriter, answer: Answer) -> None:
    body: Any = answer.error
    if isinstance(body, str):
        fault = {"type": "invalid_request_error", "message": answer.error, "code": answer.error_code}
        body = {"type": "error", "error": fault}
    content = json.dumps(body).encode()
    headers = {"content-type": "application/json", "content-length": str(len(content)), **answer.headers}
    writer.write(_head(answer.status, headers) + content)
    await writer.drain()


def _head(status: int, headers: dict[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} {'OK' if status == 200 else 'Error'}", "connection: close"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
