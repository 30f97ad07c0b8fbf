"""POST /agui/{agent}, its `connect` for who comes back, and what the agent can do (G1)."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated, Any

from ag_ui.core import RunAgentInput
from fastapi import APIRouter, Body, Path
from pydantic import ValidationError
from starlette.responses import Response

from agentflow import QuestionAlreadyAnswered, SessionNotFound
from agentflow.clock import uuid7
from agentflow.server.agui import run as runs
from agentflow.server.agui.capabilities import capabilities
from agentflow.server.agui.request import Hand, Known, Nothing, plan, props_of
from agentflow.server.agui.run import Run
from agentflow.server.call import Call, Here, Starting
from agentflow.server.problems import Misfits, pointer
from agentflow.server.wire.answers import answer, streamed
from agentflow.server.wire.json_route import JsonRoute
from agentflow.server.wire.paths import session_name
from agentflow.server.wire.shapes import Shape

router = APIRouter(route_class=JsonRoute, tags=["AG-UI"], prefix="/agui")

Agent = Annotated[str, Path(description="The agent's name.")]


class Connect(Shape):
    """The conversation that a client comes back to."""

    threadId: str  # the protocol's word
    runId: str | None = None


@router.post("/{agent}", summary="Run one step of a conversation, as AG-UI's events.")
async def run(call: Starting, agent: Agent, body: Annotated[dict[str, Any], Body()]) -> Response:
    call.subject.refuse_agent(agent)
    asked = _read(body)
    thread_id = session_name(asked.thread_id)
    this = Run(thread_id, asked.run_id, frozenset(message.id for message in asked.messages))
    match plan(asked, agent, await _status(call, thread_id)):
        case Nothing():
            return streamed(call, runs.idle(this))
        case Known(call_id=call_id):
            said = f"What {call_id!r} asked has been answered already, or is no longer asked."
            return streamed(call, runs.failed(this, QuestionAlreadyAnswered(said, detail={"session_id": thread_id})))
        case Hand(given=given):
            subject = call.subject
            receipt = await call.runtime.submit(thread_id, given, owner=subject.user, roles=subject.roles)
            frames = runs.told(call.runtime, this, receipt)
            if props_of(asked).stop_on_disconnect:
                frames = _stopping(call, thread_id, receipt.turn_id, frames)
            return streamed(call, frames)


@router.post("/{agent}/connect", summary="The conversation as it stands, and what runs in it.")
async def connect(call: Here, agent: Agent, body: Connect) -> Response:
    call.subject.refuse_agent(agent)
    status = await call.visible(session_name(body.threadId))
    if status["agent_id"] != agent:
        raise SessionNotFound(f"There is no session {body.threadId!r} of agent {agent!r}.")
    this = Run(body.threadId, body.runId or status["turn_id"] or uuid7())
    return streamed(call, runs.connected(call.runtime, this))


@router.get("/{agent}/capabilities", summary="What an agent and this server can do.")
async def what_it_can(call: Here, agent: Agent) -> Response:
    call.subject.refuse_agent(agent)
    return answer(await capabilities(call.runtime, agent))


def _read(body: dict[str, Any]) -> RunAgentInput:
    try:
        return RunAgentInput.model_validate(body)
    except ValidationError as error:
        complaints = [{"pointer": pointer(each["loc"]), "detail": each["msg"]} for each in error.errors()]
        raise Misfits(complaints) from None


async def _status(call: Call, session_id: str) -> dict[str, Any] | None:
    try:
        return await call.visible(session_id)
    except SessionNotFound:
        return None


async def _stopping(call: Call, session_id: str, turn_id: str, frames: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
    """The frames; a reader that leaves before their end stops the turn (G5)."""
    is_over = False
    try:
        async with aclosing(frames):
            async for frame in frames:
                yield frame
        is_over = True
    finally:
        if not is_over and not call.serving.closing.is_set():
            await call.runtime.stop(session_id, turn_id)
