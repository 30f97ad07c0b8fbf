"""Two formats over a server others wrote: aimock (npm, node 20 or newer), where its `llmock` is installed.

Our own stub shares our reading of the formats; this one does not. Set AGENTFLOW_TEST_AIMOCK to the program, or have
`llmock` on PATH, or these tests are skipped.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentflow.errors import ModelError
from agentflow.models.assembly import Assembler, Reply, settle_calls
from agentflow.models.litellm_model import LitellmModel
from agentflow.models.protocol import ModelRequest

LLMOCK = os.environ.get("AGENTFLOW_TEST_AIMOCK") or shutil.which("llmock")
pytestmark = pytest.mark.skipif(LLMOCK is None, reason="llmock is not installed")

TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather in a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}
CALL = {"name": "get_weather", "arguments": json.dumps({"city": "Paris"})}
OTHER = {"name": "get_weather", "arguments": json.dumps({"city": "Rome"})}
FIXTURES = [
    {"match": {"userMessage": "weather", "hasToolResult": True}, "response": {"content": "Sunny in Paris."}},
    {"match": {"userMessage": "weather"}, "response": {"toolCalls": [CALL, OTHER]}},
    {"match": {"userMessage": "think"}, "response": {"content": "42", "reasoning": "six times seven"}},
    {
        "match": {"userMessage": "long"},
        "response": {"error": {"message": "prompt is too long: 3 > 2", "type": "invalid_request_error"}, "status": 400},
    },
    {"match": {"userMessage": "hello"}, "response": {"content": "Hello, how can I help you today?"}},
]


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """Where a server with the fixtures listens."""
    assert LLMOCK is not None
    folder: Path = tmp_path_factory.mktemp("aimock")
    (folder / "fixtures.json").write_text(json.dumps({"fixtures": FIXTURES}))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        number: int = free.getsockname()[1]
    command = [LLMOCK, "-p", str(number), "-f", str(folder), "--chunk-size", "5", "--strict", "--log-level", "silent"]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _wait_for(number, server)
        asyncio.run(LitellmModel("openai/any").warm())
        yield number
    finally:
        server.terminate()
        server.wait()


def _wait_for(port: int, server: subprocess.Popen[bytes]) -> None:
    while server.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    pytest.fail("llmock ended before it listened")


@pytest.fixture(params=["openai", "anthropic"])
def model(request: pytest.FixtureRequest, port: int) -> LitellmModel:
    if request.param == "openai":
        return LitellmModel("openai/deepseek-reasoner", api_base=f"http://127.0.0.1:{port}/v1", api_key="test")
    return LitellmModel("anthropic/claude-sonnet-4-5", api_base=f"http://127.0.0.1:{port}", api_key="test")


def ask(model: LitellmModel, *messages: dict[str, Any]) -> Reply:
    async def run() -> Reply:
        assembler = Assembler()
        try:
            async for delta in model.stream(ModelRequest("call", "main", list(messages), [TOOL])):
                assembler.feed(delta)
        finally:
            await model.close()
        return assembler.reply()

    return asyncio.run(run())


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def test_text_streams_to_its_end(model: LitellmModel) -> None:
    reply = ask(model, user("hello"))
    assert (reply.text, reply.finish_reason) == ("Hello, how can I help you today?", "stop")


def test_parallel_calls_and_their_results_go_round(model: LitellmModel) -> None:
    """T14"""
    asked = user("How is the weather?")
    reply = ask(model, asked)
    assert reply.finish_reason == "tool_calls"
    assert [(call.name, json.loads(call.arguments)) for call in reply.tool_calls] == [
        ("get_weather", {"city": "Paris"}),
        ("get_weather", {"city": "Rome"}),
    ]
    calls = settle_calls(reply.tool_calls, (), lambda: pytest.fail("every call had an id of its own"))
    asking = {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in calls
        ],
    }
    results = [{"role": "tool", "tool_call_id": call.id, "name": call.name, "content": "sunny"} for call in calls]
    assert ask(model, asked, asking, *results).text == "Sunny in Paris."


def test_reasoning_is_apart_from_the_answer(model: LitellmModel) -> None:
    """T15"""
    reply = ask(model, user("think"))
    assert (reply.text, reply.reasoning) == ("42", "six times seven")
    assert reply.provider is not None


def test_too_long_is_an_overflow(model: LitellmModel) -> None:
    """X16"""
    with pytest.raises(ModelError) as caught:
        ask(model, user("a long story"))
    assert (caught.value.kind, caught.value.status) == ("context_overflow", 400)


def test_what_no_fixture_answers_is_an_error(model: LitellmModel) -> None:
    """`--strict`: so that the other tests are not answered by accident."""
    with pytest.raises(ModelError):
        ask(model, user("nothing known"))


def test_usage_is_reported_or_unknown(model: LitellmModel) -> None:
    """X6: never zero input tokens."""
    usage = ask(model, user("hello")).usage
    assert usage is None or usage.input is None or usage.input > 0
