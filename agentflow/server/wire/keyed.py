"""`Idempotency-Key`: a request that is sent again is answered again, and done once (S7, F07)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Annotated, Any

from fastapi import Header, Request
from starlette.responses import Response

from agentflow import read_json
from agentflow.server.call import IN_SCOPE, Call
from agentflow.server.problems import Misfits, Refusal
from agentflow.server.wire.json_route import JsonRoute, as_json

IdempotencyKey = Annotated[str | None, Header(description="Names the request: sent again it is answered again.")]

MOST_CHARS = 255

_HEADER = "idempotency-key"
_KEPT_HEADERS = ("content-type", "location", "etag")
_WITHOUT_EFFECT = ("/export",)

Handle = Callable[[Request], Awaitable[Response]]


class KeyedRoute(JsonRoute):
    """A route whose POSTs may come with a key. Their answer is kept for a day, if they had an effect."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        has_effect = "POST" in (self.methods or ()) and not self.path_format.endswith(_WITHOUT_EFFECT)

        async def handler(request: Request) -> Response:
            key = checked(request.headers.get(_HEADER)) if has_effect else None
            return await handle(request) if key is None else await _once(as_json(request), key, handle)

        return handler


def checked(key: str | None) -> str | None:
    """The key of a request. Raises `Misfits`."""
    if key is not None and not (key.isascii() and key.isprintable() and 0 < len(key) <= MOST_CHARS):
        said = f"must be 1 to {MOST_CHARS} printable characters of ASCII."
        raise Misfits([{"parameter": "Idempotency-Key", "detail": said}])
    return key


def named_by(call: Call, key: str | None, *parts: str) -> str | None:
    """An id for what a request makes, the same for the same subject, key and parts; null without a key."""
    return None if key is None else f"key-{_digest(call.subject.name, key, *parts)[:32]}"


async def _once(request: Request, key: str, handle: Handle) -> Response:
    call: Call = request.scope[IN_SCOPE]
    await _refuse_foreign(call, request)
    path = f"{request.url.path}?{request.url.query}"
    name = _digest(call.subject.name, request.method, path, key)
    repeats = call.runtime.repeats
    begun = await repeats.begin(name, _fingerprint(await request.body()))
    if begun.state == "kept" and begun.answer is not None:
        kept = json.loads(begun.answer)
        return Response(kept["body"], kept["status"], kept["headers"])
    if begun.state == "other":
        raise Refusal("key_reused", "This Idempotency-Key came with another body before; take a new one.")
    if begun.state == "running":
        raise Refusal("key_in_use", "The first request with this Idempotency-Key is being answered; ask again.")
    answer = None
    try:
        response = await handle(request)
        answer = _kept(response)
    finally:
        await (repeats.drop(name) if answer is None else repeats.keep(name, answer))
    return response


async def _refuse_foreign(call: Call, request: Request) -> None:
    """Whose session it is comes before what was answered about it; one that is not there has nobody."""
    session_id = request.path_params.get("session_id", request.query_params.get("sessionId"))
    if call.subject.user is not None and session_id is not None:
        await call.visible(session_id)


def _kept(response: Response) -> str | None:
    """What is kept of an answer; null for one of a request that had no effect."""
    if not 200 <= response.status_code < 300:
        return None
    headers = {name: response.headers[name] for name in _KEPT_HEADERS if name in response.headers}
    return json.dumps({"status": response.status_code, "headers": headers, "body": bytes(response.body).decode()})


def _fingerprint(body: bytes) -> str:
    """The same for the same JSON, however it is written."""
    with suppress(ValueError):
        body = json.dumps(read_json(body), sort_keys=True).encode()
    return hashlib.sha256(body).hexdigest()


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()
