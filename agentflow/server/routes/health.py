"""Whether the process lives, and whether it is ready (S4)."""

from __future__ import annotations

import asyncio

from starlette.responses import Response

from agentflow import AgentflowError
from agentflow.server.serving import Serving
from agentflow.server.wire.answers import answer

_DATABASE_SECS = 2.0


def healthz() -> Response:
    """The process lives."""
    return answer({"status": "ok"})


async def readyz(serving: Serving | None) -> Response:
    """Whether turns can be started here: opened, not draining, the database answers, its agents can run."""
    why = "the runtime is not open" if serving is None else await _unready(serving)
    return answer({"status": "ready"}) if why is None else answer({"status": "unready", "why": why}, 503)


async def _unready(serving: Serving) -> str | None:
    if serving.is_draining:
        return "the server is closing"
    try:
        async with asyncio.timeout(_DATABASE_SECS):
            await serving.runtime.sessions(limit=1)
    except (AgentflowError, TimeoutError):
        return "the database does not answer"
    return None if await serving.runtime.catalog.complaint() is None else "an agent of the project cannot run"
