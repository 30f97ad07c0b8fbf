"""W6, F44: the marks of a cached prefix as they go over the wire, counted in the body the library sends."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from agentflow.config.keys.agent import Interface
from agentflow.models.open import open_model
from agentflow.models.protocol import ModelRequest
from tests.contract.test_model_contract import TOOL, outcome
from tests.stub_server import Answer, StubServer

SYSTEM = {"role": "system", "content": "Help."}
CALLS = [
    {"id": f"toolu_{n}", "type": "function", "function": {"name": "look", "arguments": '{"place":  "a"}'}}
    for n in "abcde"
]
RESULTS = [{"role": "tool", "tool_call_id": call["id"], "name": "look", "content": "quiet"} for call in CALLS]
TALK = [
    SYSTEM,
    {"role": "user", "content": "Look around."},
    {"role": "assistant", "content": None, "tool_calls": CALLS},
    *RESULTS,
    {"role": "user", "content": "And now?"},
]
REFUSED = {"type": "error", "error": {"type": "invalid_request_error", "message": "A maximum of 4 blocks with "
           "cache_control may be provided. Found 5."}}  # fmt: skip


def bodies(
    talk: Sequence[dict[str, Any]], *answers: Answer, model: str = "claude-sonnet-4-5", **keys: Any
) -> list[str]:
    """What was sent, as JSON text, one for each request."""

    async def ask() -> list[str]:
        async with StubServer(answers, strict=False) as stub:
            interface = Interface(
                model=f"anthropic/{model}", api_base=stub.anthropic_base, api_key="horse-battery", **keys
            )
            asked = open_model(interface, Path(), "")
            reply, error = await outcome(asked, ModelRequest("call", "main", list(talk), [TOOL]))
            assert (reply.text, error) == ("Quiet.", None)
            return [json.dumps(received.body) for received in stub.requests]

    return asyncio.run(ask())


@pytest.mark.parametrize("talk", [TALK, [SYSTEM, TALK[1]], [*TALK, {"role": "assistant", "content": "x"}, TALK[-1]]])
def test_no_more_than_four_marks_go_out(talk: list[dict[str, Any]]) -> None:
    (body,) = bodies(talk, Answer(text="Quiet."))
    assert 2 <= body.count('"cache_control"') <= 4


def test_a_refusal_that_names_the_marks_is_answered_by_one_call_without() -> None:
    first, second = bodies(TALK, Answer(status=400, error=REFUSED), Answer(text="Quiet."))
    assert '"cache_control"' in first
    assert '"cache_control"' not in second


def test_off_sends_none() -> None:
    (body,) = bodies(TALK, Answer(text="Quiet."), cache="off")
    assert '"cache_control"' not in body
