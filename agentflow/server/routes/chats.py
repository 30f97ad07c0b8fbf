"""Chats, the sessions as a list for people, and what they thought of a step; names of the seeds."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path
from pydantic import Field
from starlette.responses import Response

from agentflow.server.call import Here
from agentflow.server.routes.sessions import PageSize
from agentflow.server.wire import documented
from agentflow.server.wire.answers import answer
from agentflow.server.wire.json_route import JsonRoute
from agentflow.server.wire.paths import SessionId
from agentflow.server.wire.shapes import Shape

router = APIRouter(route_class=JsonRoute, tags=["chats"])


class Name(Shape):
    """The name a person gives; null takes it away."""

    name: str | None


class Feedback(Shape):
    """What a person thought of a step."""

    rating: Literal["up", "down"] | Annotated[int, Field(ge=1, le=5)]
    comment: str | None = None


@router.get("/chats", response_model=documented.ChatPage, summary="The chats, the most recently used first.")
async def chats(
    call: Here,
    agent: str | None = None,
    search: str | None = None,
    page_size: PageSize = 50,
    page_token: str | None = None,
    owner: str | None = None,
) -> Response:
    user = call.subject.acting_for(owner)
    page = await call.runtime.sessions(agent=agent, search=search, limit=page_size, cursor=page_token, owner=user)
    return answer({"chats": [chat(each) for each in page], "more": page.more, "next_page_token": page.cursor})


@router.patch("/chats/{session_id:name}", response_model=documented.Anything, summary="Name a chat.")
async def rename(call: Here, session_id: SessionId, body: Name) -> Response:
    await call.visible(session_id)
    return answer(await call.runtime.records.name(session_id, body.name))


@router.delete("/chats/{session_id:name}", status_code=204, summary="Erase a chat.")
async def delete(call: Here, session_id: SessionId) -> Response:
    await call.visible(session_id)
    await call.runtime.delete(session_id)
    return Response(status_code=204)


@router.put(
    "/sessions/{session_id:name}/steps/{order}/feedback",
    response_model=documented.Anything,
    summary="What a person thought of a step.",
)
async def feedback(
    call: Here, session_id: SessionId, order: Annotated[int, Path(ge=1, le=2**31)], body: Feedback
) -> Response:
    await call.visible(session_id)
    return answer(await call.runtime.records.feedback(session_id, order, body.rating, body.comment))


def chat(session: dict[str, Any]) -> dict[str, Any]:
    """`{session_id, agent_id, name, state, updated_at, turns}` of a listed session."""
    return {
        "session_id": session["session_id"],
        "agent_id": session["agent_id"],
        "name": session["name"],
        "state": session["status"],
        "updated_at": session["updated_at"],
        "turns": session["turns"],
    }
