"""The routes that the seeds name, with their own spelling of fields."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.responses import Response

from agentflow.server.call import Here
from agentflow.server.wire import documented
from agentflow.server.wire.answers import answer
from agentflow.server.wire.keyed import KeyedRoute

router = APIRouter(route_class=KeyedRoute, tags=["sessions"])

SessionQuery = Annotated[str, Query(alias="sessionId")]

_STATUS = {"paused_ask_user": "PENDING_USER_INPUT"}


@router.get(
    "/session-status", response_model=documented.SeedStatus, summary="Where a session stands, and what it asks."
)
async def session_status(call: Here, session_id: SessionQuery) -> Response:
    return answer(seed_status(await call.visible(session_id)))


@router.post(
    "/stop-session", response_model=documented.SeedStopped, summary="Stop the turn that runs or waits for an answer."
)
async def stop_session(call: Here, session_id: SessionQuery) -> Response:
    await call.visible(session_id)
    stopped = await call.runtime.stop(session_id)
    return answer({"outcome": stopped["outcome"], "turnId": stopped["turn_id"]})


def seed_status(status: dict[str, Any]) -> dict[str, Any]:
    """`{pending, questions, question, toolCallId, status, turnId, todos, pendingKind, calls}` of a session's status."""
    return {
        "pending": status["pending"],
        "questions": status["questions"],
        "question": status["question"],
        "toolCallId": status["tool_call_id"],
        "status": _STATUS.get(status["status"], status["status"]),
        "turnId": status["turn_id"],
        "todos": status["todos"],
        "pendingKind": status["pending_kind"],
        "calls": status["calls"],
    }
