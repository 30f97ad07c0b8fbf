"""POST /sessions/{id}/inputs and /answer: what starts a turn, or lets one go on."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Body, Header
from pydantic import Field
from starlette.responses import Response

from agentflow import Receipt, TurnNotFound
from agentflow.server.call import Call, Starting
from agentflow.server.wire import documented
from agentflow.server.wire.answers import answer, location, turn_stream, wants_stream
from agentflow.server.wire.etags import IfMatch, head_of
from agentflow.server.wire.json_route import JsonRoute
from agentflow.server.wire.keyed import IdempotencyKey, checked, named_by
from agentflow.server.wire.paths import SessionId, session_name
from agentflow.server.wire.shapes import Shape

router = APIRouter(route_class=JsonRoute, tags=["turns"])

Accept = Annotated[str | None, Header()]


class Answer(Shape):
    """The answer to the pending question: `answers` by header, or one `text`."""

    answers: dict[str, Any] | str | None = None
    text: str | None = None
    tool_call_id: str | None = Field(None, description="The question's; the pending one without.")
    turn_id: str | None = Field(None, description="Names the request: sent again it is answered again.")


@router.post(
    "/sessions/{session_id:name}/inputs",
    status_code=202,
    response_model=documented.Receipt,
    summary="Hand in any input.",
)
async def submit(
    call: Starting,
    session_id: SessionId,
    body: Annotated[dict[str, Any], Body()],
    stream: bool = False,
    owner: str | None = None,
    accept: Accept = None,
    if_match: IfMatch = None,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    if body.get("turn_id") is None and (turn_id := named_by(call, checked(idempotency_key), "input", session_id)):
        body = {**body, "turn_id": turn_id}
    user = call.subject.acting_for(owner)
    call.subject.refuse_input(body)
    receipt = await call.runtime.submit(
        session_name(session_id), body, owner=user, if_head=head_of(if_match), roles=call.subject.roles
    )
    return await _received(call, receipt, stream=stream or wants_stream(accept))


@router.post(
    "/sessions/{session_id:name}/answer",
    status_code=202,
    response_model=documented.Receipt,
    summary="Answer the pending question.",
)
async def answer_question(
    call: Starting,
    session_id: SessionId,
    body: Answer,
    stream: bool = False,
    accept: Accept = None,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    await call.visible(session_id)
    turn_id = body.turn_id or named_by(call, checked(idempotency_key), "answer", session_id)
    receipt = await _answered_before(call, session_id, turn_id)
    if receipt is None:
        receipt = await call.runtime.answer(session_id, **{**body.model_dump(), "turn_id": turn_id})
    return await _received(call, receipt, stream=stream or wants_stream(accept))


async def _answered_before(call: Call, session_id: str, turn_id: str | None) -> Receipt | None:
    """The receipt of a request that was made before, whatever is pending now (C29)."""
    if turn_id is None:
        return None
    try:
        turn = await call.runtime.turn(session_id, turn_id)
    except TurnNotFound:
        return None
    return Receipt(session_id, turn["turn_id"], False, True, turn["after_seq"])


async def _received(call: Call, receipt: Receipt, *, stream: bool) -> Response:
    if stream:
        return await turn_stream(call, receipt)
    return answer(receipt.as_dict(), 202, location(call, receipt))
