"""Who is asked before each step of a turn: a Python function, or a service on HTTP (C31, C34).

Both get the same JSON text and answer with a JSON object. A worker that fails for good fails the turn (C34).
"""

from __future__ import annotations

import asyncio
import contextvars
import importlib
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

from agentflow import clock
from agentflow.bounds import json_slices
from agentflow.bounds.beside import beside
from agentflow.bounds.weight import weigh
from agentflow.errors import WorkerFailed
from agentflow.secrets.redacting import told
from agentflow.telemetry import spans
from agentflow.text import LONG_TEXT, preview, read_json, sanitise_json
from agentflow.tools.flows.threads import FLOW_THREADS
from agentflow.worker import SIGNATURE, TIMESTAMP, sign

if TYPE_CHECKING:
    import ssl

    import httpx

ATTEMPT_SECS = 20.0
ATTEMPTS = 10
DECISION_SECS = 300.0
MAX_PAUSE_SECS = 30.0
_MAX_BYTES = 16_000_000
_WRITER = json.JSONEncoder()
_COMPACT_WRITER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
OPEN_TO_READING = "is reached by http://: anybody on the way can read what is signed; use https://"
_LOOPBACK = re.compile(r"127\.\d{1,3}\.\d{1,3}\.\d{1,3}$")
_PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})


@dataclass(frozen=True, slots=True)
class FailedAttempt:
    """An attempt that failed and is followed by another one, `next_secs` later."""

    attempt: int
    error: str
    next_secs: float


Retrying = Callable[[FailedAttempt], None]


class Worker(Protocol):
    """Contract: equal workers decide alike; `decide` raises `WorkerFailed` only, and may be cancelled."""

    async def decide(self, request: Mapping[str, Any], retrying: Retrying) -> Any:
        """The answer to a decision request, as JSON; what it says is judged by the caller.

        `retrying` is told of each failed attempt before the next one is waited for.
        """
        ...


@dataclass(frozen=True, slots=True)
class PythonWorker:
    """A function of the request, sync (on a daemon thread) or async; it gets copies of its own."""

    name: str
    function: Callable[..., Any]

    async def decide(self, request: Mapping[str, Any], retrying: Retrying) -> Any:
        own = await beside(_copy, {**request, "attempts": 1})
        try:
            async with asyncio.timeout(DECISION_SECS):
                answer = await self._call(own)
        except TimeoutError as error:
            raise WorkerFailed(f"The worker {self.name} did not answer within {DECISION_SECS:g} seconds.") from error
        except Exception as error:
            raise WorkerFailed(f"The worker {self.name} failed: {type(error).__name__}: {error}") from error
        try:
            return await beside(_as_json, answer)
        except (TypeError, ValueError) as error:
            raise WorkerFailed(f"The worker {self.name} answered what is not JSON: {error}") from error

    async def _call(self, request: Any) -> Any:
        if asyncio.iscoroutinefunction(self.function):
            return await self.function(request)
        answer = await _on_thread(self.function, request)
        return await answer if isinstance(answer, Awaitable) else answer


def _written(value: Any) -> str:
    """JSON text made piece by piece: written in one call, it would hold everybody on whatever thread (Z3)."""
    return "".join(_WRITER.iterencode(value))


def _copy(request: Mapping[str, Any]) -> Any:
    text = _written(request)
    return json_slices.read(text, most_values=len(text), most_levels=len(text))


def _body(request: Mapping[str, Any]) -> bytes:
    return "".join(_COMPACT_WRITER.iterencode(request)).encode("utf-8", "replace")


def _as_json(answer: Any) -> Any:
    """A copy as it would come over a wire. Raises `ValueError`, `TypeError`."""
    weigh(answer)
    try:
        return {} if answer is None else read_json(_written(answer))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _read(said: bytes) -> Any:
    return sanitise_json(read_json(said))


async def _on_thread(function: Callable[..., Any], request: Any) -> Any:
    loop, variables = asyncio.get_running_loop(), contextvars.copy_context()
    future: asyncio.Future[Any] = loop.create_future()

    def settle(answer: Any, error: Exception | None) -> None:
        if future.done():
            return
        if error is None:
            future.set_result(answer)
        else:
            future.set_exception(error)

    def job() -> None:
        answer, failure = None, None
        try:
            answer = variables.run(function, request)
        except Exception as error:
            failure = error
        except BaseException as error:  # whatever a worker raises must not end the thread without an answer
            failure = RuntimeError(f"{type(error).__name__}: {error}")
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, answer, failure)

    FLOW_THREADS.run(job)
    return await future


class _Passing(Exception):
    """A failure that may be gone at the next attempt."""


@dataclass(frozen=True, slots=True)
class HttpWorker:
    """A service: JSON by POST, signed when there is a secret, asked again while its failures may pass (C34)."""

    url: str
    secret: str | None = field(default=None, repr=False)

    async def decide(self, request: Mapping[str, Any], retrying: Retrying) -> Any:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + DECISION_SECS
        for attempt in range(1, ATTEMPTS + 1):
            left = deadline - loop.time()
            try:
                async with asyncio.timeout(min(ATTEMPT_SECS, left)):
                    return await self._post({**request, "attempts": attempt})
            except TimeoutError:
                failure = f"no answer within {min(ATTEMPT_SECS, left):g} seconds"
            except _Passing as passing:
                failure = str(passing)
            pause = pause_after(attempt)
            if attempt == ATTEMPTS or loop.time() + pause >= deadline:
                break
            retrying(FailedAttempt(attempt, failure, pause))
            await asyncio.sleep(pause)
        sentence = f"The worker {self.url} failed {attempt} times, at last: {failure}."
        raise WorkerFailed(sentence, detail={"url": self.url})

    async def _post(self, request: Mapping[str, Any]) -> Any:
        import httpx

        body = await beside(_body, request)
        try:
            async with (
                httpx.AsyncClient(verify=_tls(), timeout=None, trust_env=False) as client,  # the attempt has a limit
                client.stream("POST", self.url, content=body, headers=self._headers(body)) as answer,
            ):
                said = await self._read(answer)
        except httpx.HTTPError as error:
            raise _Passing(told(f"{type(error).__name__}: {error}")) from error
        except httpx.InvalidURL as error:
            raise WorkerFailed(f"The worker's address {self.url!r} cannot be used: {error}") from error
        try:
            return await asyncio.to_thread(_read, said) if len(said) > LONG_TEXT else _read(said)
        except ValueError as error:
            raise WorkerFailed(f"The worker {self.url} answered what is not JSON: {error}") from error

    async def _read(self, answer: httpx.Response) -> bytes:
        """The body as it came, never more of it than allowed: encoded, a little could become a lot (Z3)."""
        if answer.status_code in _PASSING:
            raise _Passing(f"status {answer.status_code}")
        encoding = answer.headers.get("Content-Encoding", "identity")
        if encoding.lower() != "identity":
            raise self._refused(f"its answer is encoded as {preview(encoding, 40)!r}, send it as it is")
        said = bytearray()
        async for chunk in answer.aiter_raw():
            said += chunk
            if len(said) > _MAX_BYTES:
                raise self._refused(f"its answer has more than {_MAX_BYTES} bytes")
        if not answer.is_success:
            text = preview(told(said.decode("utf-8", "replace")), 200)
            raise self._refused(f"it refused the request with status {answer.status_code}: {text}")
        return bytes(said)

    def _refused(self, what: str) -> WorkerFailed:
        return WorkerFailed(f"The worker {self.url} cannot be used: {what}", detail={"url": self.url})

    def _headers(self, body: bytes) -> dict[str, str]:
        headers = {**spans.headers(), "Content-Type": "application/json", "Accept-Encoding": "identity"}
        if self.secret is None:
            return headers
        timestamp = str(int(clock.now().timestamp()))
        return {**headers, TIMESTAMP: timestamp, SIGNATURE: sign(self.secret, timestamp, body)}


def is_open_to_reading(url: str, secret: str | None) -> bool:
    """Whether a signed request goes in the clear to another machine, where it can be read and sent again (Z7)."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    return secret is not None and parts.scheme == "http" and not (host in ("localhost", "::1") or _LOOPBACK.match(host))


def imported(reference: str) -> Callable[..., Any] | None:
    """The function that `module:function` names, null when there is none."""
    module, _, name = reference.partition(":")
    try:
        function = getattr(importlib.import_module(module), name, None)
    except ImportError:
        return None
    return function if callable(function) else None


def pause_after(attempt: int) -> float:
    """Seconds to wait after the n-th failed attempt."""
    return min(2.0**attempt, MAX_PAUSE_SECS)


@cache
def _tls() -> ssl.SSLContext:
    import ssl

    return ssl.create_default_context()
