"""A route whose body is JSON within the bounds of every input, read in time and parsed without holding others."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.responses import Response

from agentflow import AgentflowError, read_json
from agentflow.server.problems import Refusal, status_of

BODY_SECS = 60.0

_LONG = 250_000  # bytes; what is longer is parsed on a thread


class Refused(HTTPException):
    """A refusal that passes through FastAPI, which knows errors of its own kind only."""

    def __init__(self, error: AgentflowError) -> None:
        super().__init__(status_of(error.code), error.message)
        self.error = error


class JsonRequest(Request):
    """A request whose body is read so; it is read once."""

    async def body(self) -> bytes:
        try:
            async with asyncio.timeout(BODY_SECS):
                return await super().body()
        except AgentflowError as error:
            raise Refused(error) from None
        except TimeoutError:
            raise Refused(Refusal("body_timeout", f"The body did not come within {BODY_SECS:.0f} s.")) from None

    async def json(self) -> Any:
        body = await self.body()
        try:
            return read_json(body) if len(body) < _LONG else await asyncio.to_thread(read_json, body)
        except ValueError as error:
            raise Refused(Refusal("invalid_json", f"The body is not JSON as it is taken here: {error}.")) from None


def as_json(request: Request) -> JsonRequest:
    """The request as one of JSON."""
    return request if isinstance(request, JsonRequest) else JsonRequest(request.scope, request.receive)


class JsonRoute(APIRoute):
    """An `APIRoute` that reads its body so."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handler(request: Request) -> Response:
            return await handle(as_json(request))

        return handler
