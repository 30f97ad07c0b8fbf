"""POST /tokens: a backend gives a browser what it may come with (S10)."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from pydantic import Field
from starlette.responses import Response

from agentflow import clock
from agentflow.server.access.tokens import MOST_SECS, make_token
from agentflow.server.call import Here
from agentflow.server.problems import Refusal
from agentflow.server.settings import TOKEN_SECRET
from agentflow.server.wire import documented
from agentflow.server.wire.answers import answer
from agentflow.server.wire.json_route import JsonRoute
from agentflow.server.wire.shapes import Shape

router = APIRouter(route_class=JsonRoute, tags=["tokens"])


class Asked(Shape):
    """Whose token: it sees the sessions of this subject alone, and starts turns of these agents, or of all."""

    subject: Annotated[str, Field(min_length=1, max_length=200)]
    ttl_secs: Annotated[int, Field(ge=1, le=MOST_SECS)] = 3600
    agents: list[str] | None = None


@router.post("/tokens", status_code=201, response_model=documented.Token, summary="A token for a browser.")
async def token(call: Here, body: Asked) -> Response:
    if call.subject.kind != "key":
        raise Refusal("not_allowed", "Only a key gives tokens.")
    secret = call.settings.token_secret
    if secret is None:
        raise Refusal("tokens_off", f"This server gives no tokens: set {TOKEN_SECRET} to 32 random bytes or more.")
    made, ends = make_token(secret, body.subject, body.ttl_secs, body.agents)
    return answer({"token": made, "expires_at": clock.rfc3339(ends * clock.SECOND)}, 201)
