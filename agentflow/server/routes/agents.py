"""The agents, as a form needs them, and what all turns have done and cost."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter
from starlette.responses import Response

from agentflow.server.call import Here
from agentflow.server.wire import documented
from agentflow.server.wire.answers import answer
from agentflow.server.wire.paths import AgentName

router = APIRouter(tags=["agents"])


@router.get("/agents", response_model=documented.Agents, summary="The agents of the project and those that ship.")
async def agents(call: Here) -> Response:
    found = await call.runtime.catalog.agents()
    allowed = call.subject.agents
    return answer({"agents": [each for each in found if allowed is None or each["name"] in allowed]})


@router.get("/agents/{name:name}", response_model=documented.Agent, summary="An agent: description, inputs, tools.")
async def agent(call: Here, name: AgentName) -> Response:
    call.subject.refuse_agent(name)
    return answer(await call.runtime.catalog.agent(name))


@router.get(
    "/insights", response_model=documented.Anything, summary="What the turns of all sessions have done and cost."
)
async def insights(
    call: Here,
    by: Literal["agent", "day", "model", "tool"] = "agent",
    since: str | None = None,
    tz: str = "UTC",
) -> Response:
    call.subject.refuse_user("insights")
    return answer(await call.runtime.records.insights(by=by, since=since, tz=tz))
