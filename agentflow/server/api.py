"""The routes put together, and how they refuse."""

from __future__ import annotations

import logging
import sys
from functools import cache, partial
from pathlib import Path
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from agentflow import AgentflowError, InternalError
from agentflow.clock import uuid7
from agentflow.server.agui import routes as agui
from agentflow.server.call import BASE
from agentflow.server.description import describe, written
from agentflow.server.problems import Misfits, Refusal, pointer, problem
from agentflow.server.routes import agents, chats, events, inputs, run, seed_names, sessions, tokens, turns
from agentflow.server.wire.json_route import Refused

_log = logging.getLogger("agentflow.server")

ROUTERS: tuple[APIRouter, ...] = tuple(
    each.router for each in (run, inputs, seed_names, events, sessions, turns, chats, agents, tokens)
)

_OWN_CODES = {404: "route_not_found", 405: "method_not_allowed", 406: "not_acceptable"}
_SENTENCES = {
    404: "There is nothing at this address; /openapi.json lists what there is.",
    405: "This address does not take that method.",
}


def api() -> FastAPI:
    """The application of all routes, without the checks that come before them."""
    app = FastAPI(title="agentflow", docs_url=None, redoc_url=None, redirect_slashes=False)
    for router in ROUTERS:
        app.include_router(router, prefix=BASE)
    app.include_router(agui.router)
    app.openapi = cache(partial(describe, app, BASE))  # type: ignore[method-assign]  # FastAPI's way to say it
    app.add_exception_handler(AgentflowError, _refused)
    app.add_exception_handler(HTTPException, _not_routed)
    app.add_exception_handler(RequestValidationError, _misfits)
    app.add_exception_handler(Exception, _unexpected)
    return app


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, AgentflowError)
    return problem(error)


async def _not_routed(_: Request, error: Exception) -> Response:
    """What routing refuses, and what a route's body was refused with."""
    assert isinstance(error, HTTPException)
    if isinstance(error, Refused):
        return problem(error.error)
    code = _OWN_CODES.get(error.status_code, "invalid_json")
    return problem(Refusal(code, _SENTENCES.get(error.status_code, str(error.detail)), headers=error.headers))


async def _misfits(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    return problem(Misfits([_complaint(each) for each in error.errors()]))


def _complaint(found: dict[str, Any]) -> dict[str, str]:
    where, *place = found["loc"]
    at = {"pointer": pointer(place)} if where == "body" else {"parameter": str(place[0])}
    return {**at, "detail": str(found["msg"])}


async def _unexpected(_: Request, fault: Exception) -> Response:
    return unexpected(fault)


def unexpected(fault: Exception) -> Response:
    """The answer to a request that met a fault of ours: an id, under which the log has the rest."""
    number = uuid7()
    _log.error("internal error %s", number, exc_info=fault)
    error = InternalError("A fault of the server; its log has more under this id.", detail={"error_id": number})
    return problem(error)


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(written(api().openapi()), "utf-8")
