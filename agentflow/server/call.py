"""One request as a route sees it: who asks, and what of the server it may use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import Depends, Request

from agentflow import Runtime
from agentflow.server.access.subject import Subject
from agentflow.server.serving import Serving
from agentflow.server.settings import Settings

BASE = "/api/v1"
IN_SCOPE = "agentflow.call"


@dataclass(frozen=True, slots=True)
class Call:
    """`prefix` is where the server is mounted: every address it gives begins with it."""

    settings: Settings
    serving: Serving
    subject: Subject
    prefix: str

    @property
    def runtime(self) -> Runtime:
        return self.serving.runtime

    async def visible(self, session_id: str) -> dict[str, Any]:
        """The session's status. Raises `SessionNotFound`, also for a session of another user than asks (S10)."""
        return await self.runtime.status(session_id, owner=self.subject.user)

    def turn_address(self, session_id: str, turn_id: str) -> str:
        return f"{self.prefix}{BASE}/sessions/{quote(session_id, safe='')}/turns/{quote(turn_id, safe='')}"


async def _call(request: Request) -> Call:
    call: Call = request.scope[IN_SCOPE]
    return call


async def _starting(request: Request) -> Call:
    """The same for a request that may start a turn."""
    call = await _call(request)
    call.serving.refuse_while_draining()
    return call


Here = Annotated[Call, Depends(_call)]
Starting = Annotated[Call, Depends(_starting)]
