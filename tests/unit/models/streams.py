"""Helpers of the model tests: requests, and a stream read to its end."""

from __future__ import annotations

import asyncio
from typing import Any

from agentflow.errors import ModelError
from agentflow.message import Purpose
from agentflow.models.assembly import Assembler, Reply
from agentflow.models.protocol import Delta, Model, ModelRequest


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def tool_result(name: str, text: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": "c", "name": name, "content": text}


def request(
    *messages: dict[str, Any], session: str = "s", turn: int = 1, purpose: Purpose = "main", chars: int = 0
) -> ModelRequest:
    return ModelRequest("call", purpose, list(messages) or [user("hi")], chars=chars, session_id=session, turn=turn)


async def deltas_of(model: Model, asked: ModelRequest) -> tuple[list[Delta], ModelError | None]:
    """All deltas, and the error the stream ended with."""
    deltas: list[Delta] = []
    try:
        async for delta in model.stream(asked):
            deltas.append(delta)
    except ModelError as error:
        return deltas, error
    return deltas, None


def assembled(deltas: list[Delta]) -> Reply:
    assembler = Assembler()
    for delta in deltas:
        assembler.feed(delta)
    return assembler.reply()


def ask(model: Model, asked: ModelRequest | None = None) -> tuple[Reply, ModelError | None]:
    """The reply as far as it came, and the error, of one call on a loop of its own."""
    deltas, error = asyncio.run(deltas_of(model, asked or request()))
    return assembled(deltas), error
