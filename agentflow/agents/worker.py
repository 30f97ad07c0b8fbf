"""Who is asked before each step of a turn: a Python function, or a service on HTTP (C31, C34).

Both get the same JSON text and answer with a JSON object. A worker that fails for good fails the turn (C34).
"""

from __future__ import annotations

import asyncio
import contextvars
import hashlib
import hmac
import importlib
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

from agentflow.errors import WorkerFailed
from agentflow.text import preview, sanitise_json
from agentflow.tools.flows.threads import FLOW_THREADS

if TYPE_CHECKING:
    import ssl

SIGNATURE = "X-Agentflow-Signature"
ATTEMPT_SECS = 20.0
ATTEMPTS = 10
DECISION_SECS = 300.0
MAX_PAUSE_SECS = 30.0
_MAX_BYTES = 16_000_000
_PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})


class Worker(Protocol):
    """Contract: equal workers decide alike; `decide` raises `WorkerFailed` only, and may be cancelled."""

    async def decide(self, request: Mapping[str, Any]) -> Any:
        """The answer to a decision request, as JSON; what it says is judged by the caller."""
        ...


@dataclass(frozen=True, slots=True)
class PythonWorker:
    """A function of the request, sync (on a daemon thread) or async; it gets copies of its own."""

    name: str
    function: Callable[..., Any]

    async def decide(self, request: Mapping[str, Any]) -> Any:
        own = json.loads(json.dumps({**request, "attempts": 1}))
        try:
            async with asyncio.timeout(DECISION_SECS):
                answer = await self._call(own)
        except TimeoutError as error:
            raise WorkerFailed(f"The worker {self.name} did not answer within {DECISION_SECS:g} seconds.") from error
        except Exception as error:
            raise WorkerFailed(f"The worker {self.name} failed: {type(error).__name__}: {error}") from error
        try:
            return {} if answer is None else json.loads(json.dumps(answer))
        except (TypeError, ValueError) as error:
            raise WorkerFailed(f"The worker {self.name} answered what is not JSON: {error}") from error

    async def _call(self, request: Any) -> Any:
        if asyncio.iscoroutinefunction(self.function):
            return await self.function(request)
        answer = await _on_thread(self.function, request)
        return await answer if isinstance(answer, Awaitable) else answer


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

    async def decide(self, request: Mapping[str, Any]) -> Any:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + DECISION_SECS
        for attempt in range(1, ATTEMPTS + 1):
            left = deadline - loop.time()
            try:
                async with asyncio.timeout(min(ATTEMPT_SECS, left)):
                    return await self._post({**request, "attempts": attempt})
            except TimeoutError:
                failure = f"no answer within {ATTEMPT_SECS:g} seconds"
            except _Passing as passing:
                failure = str(passing)
            pause = pause_after(attempt)
            if attempt == ATTEMPTS or loop.time() + pause >= deadline:
                break
            await asyncio.sleep(pause)
        sentence = f"The worker {self.url} failed {attempt} times, at last: {failure}."
        raise WorkerFailed(sentence, detail={"url": self.url})

    async def _post(self, request: Mapping[str, Any]) -> Any:
        import httpx

        body = json.dumps(request, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
        try:
            async with httpx.AsyncClient(verify=_tls(), timeout=None) as client:  # the attempt has one
                answer = await client.post(self.url, content=body, headers=self._headers(body))
        except httpx.HTTPError as error:
            raise _Passing(f"{type(error).__name__}: {error}") from error
        except httpx.InvalidURL as error:
            raise WorkerFailed(f"The worker's address {self.url!r} cannot be used: {error}") from error
        if answer.status_code in _PASSING:
            raise _Passing(f"status {answer.status_code}")
        if not answer.is_success or len(answer.content) > _MAX_BYTES:
            said = f"status {answer.status_code}: {preview(answer.text, 200)}"
            raise WorkerFailed(f"The worker {self.url} refused the request: {said}", detail={"url": self.url})
        try:
            return sanitise_json(json.loads(answer.content))
        except ValueError as error:
            raise WorkerFailed(f"The worker {self.url} answered what is not JSON: {error}") from error

    def _headers(self, body: bytes) -> dict[str, str]:
        headers = {"Content-Type": "application/json"}
        return headers if self.secret is None else {**headers, SIGNATURE: signature(self.secret, body)}


def imported(reference: str) -> Callable[..., Any] | None:
    """The function that `module:function` names, null when there is none."""
    module, _, name = reference.partition(":")
    try:
        function = getattr(importlib.import_module(module), name, None)
    except ImportError:
        return None
    return function if callable(function) else None


def signature(secret: str, body: bytes) -> str:
    """The value of the signature header: `sha256=` and the hex HMAC of the body."""
    return f"sha256={hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()}"


def pause_after(attempt: int) -> float:
    """Seconds to wait after the n-th failed attempt."""
    return min(2.0**attempt, MAX_PAUSE_SECS)


@cache
def _tls() -> ssl.SSLContext:
    import ssl

    return ssl.create_default_context()
