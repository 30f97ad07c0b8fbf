"""What bringing litellm into a process does to it, and whom it asks: in processes of their own."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from tests.guards.source import ROOT

_ASKED = """
import asyncio, gc, json, os, sys

asked = set()

def hook(event, arguments):
    if event == "socket.getaddrinfo":
        asked.add(str(arguments[0]))
    elif event == "socket.connect" and isinstance(arguments[1], tuple):
        asked.add(str(arguments[1][0]))

sys.addaudithook(hook)
from agentflow.models.litellm_model import LitellmModel
from agentflow.models.protocol import ModelRequest
from tests import raw_streams as raw
from tests.stub_server import Answer, StubServer

CHAT = ("openai", "hosted_vllm", "deepseek", "mistral", "openrouter", "groq", "together_ai", "lm_studio", "xai")
BODIES = {"anthropic": raw.anthropic("Hi", finish="end_turn"), "gemini": raw.gemini([{"text": "Hi"}], finish="STOP")}
BETA = {"extra_headers": {"anthropic-beta": "interleaved-thinking-2025-05-14"}}

async def ask(prefix):
    body = BODIES.get(prefix) or raw.openai({"content": "Hi"}, finish="stop")
    async with StubServer([Answer(raw=body)], strict=False) as stub:
        base = stub.openai_base if prefix in CHAT else stub.anthropic_base
        model = LitellmModel(prefix + "/any", api_base=base, api_key="test-key", extra=BETA)
        request = ModelRequest("c", "main", [{"role": "user", "content": "hi"}])
        said = [type(delta).__name__ async for delta in model.stream(request)]
        assert len(stub.requests) == 1 and "TextDelta" in said, (prefix, said)
        await model.close()

for prefix in (*CHAT, "anthropic", "gemini"):
    asyncio.run(ask(prefix))
print(json.dumps({"asked": sorted(asked), "collects": gc.isenabled(), "frozen": gc.get_freeze_count()}))
"""

_VALIDATED = """
import json, os, pathlib, sys, tempfile

asked = set()

def hook(event, arguments):
    if event == "socket.getaddrinfo":
        asked.add(str(arguments[0]))
    elif event == "socket.connect" and isinstance(arguments[1], tuple):
        asked.add(str(arguments[1][0]))

sys.addaudithook(hook)
from cli.main import run
os.chdir(tempfile.mkdtemp())
pathlib.Path("agents/a").mkdir(parents=True)
pathlib.Path("agents/a/agent.yaml").write_text(
    "name: a\\nmodel: anthropic/claude-sonnet-4-5\\nprompt: x\\n"
    "interfaces: {near: {model: openai/any, api_base: 'http://127.0.0.1:9', api_key: k}}\\n"
)
code = run(["validate"])
near = sorted(asked)
pathlib.Path("agents/a/agent.yaml").write_text(
    "name: a\\nprompt: x\\ninterfaces: {main: {model: openai/any, api_base: 'http://127.0.0.1:9', api_key: k}}\\n"
)
connected = run(["validate", "--connect"])
print(json.dumps({"code": code, "without": near, "connected": connected, "with": sorted(asked)}))
"""

_OWN = """
import asyncio, gc, json
from agentflow import own_process
from agentflow.models.litellm_model import LitellmModel

own_process()
model = LitellmModel("openai/any")
before = model.is_loaded()
asyncio.run(model.load())
print(json.dumps({"before": before, "after": model.is_loaded(), "collects": gc.isenabled(),
                  "frozen": gc.get_freeze_count()}))
"""


def _printed(script: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    printed: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return printed


def test_nobody_but_the_configured_address_is_asked() -> None:
    """From the import on, for every provider format; the collector of a shared process is left as it was."""
    seen = _printed(_ASKED)
    assert seen == {"asked": ["127.0.0.1"], "collects": True, "frozen": 0}


def test_validate_asks_nobody_and_with_connect_only_the_configured_address() -> None:
    seen = _printed(_VALIDATED)
    assert seen == {"code": 0, "without": [], "connected": 1, "with": ["127.0.0.1"]}


def test_a_process_of_our_own_puts_the_import_out_of_the_collectors_sight() -> None:
    seen = _printed(_OWN)
    assert (seen["before"], seen["after"], seen["collects"]) == (False, True, True)
    assert seen["frozen"] > 100_000
