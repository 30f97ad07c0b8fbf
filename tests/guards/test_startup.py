"""Starting costs little: nothing heavy is loaded and nobody is called (B76)."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.guards.source import ROOT

HEAVY = (
    "litellm",
    "sqlmodel",
    "sqlalchemy",
    "alembic",
    "jinja2",
    "jsonschema",
    "pydantic",
    "transitions",
    "asyncio",
    "prompt_toolkit",
)

PROBE = """
import socket, sys

def refuse(*_, **__):
    raise AssertionError("the network was touched")

socket.socket.connect = socket.getaddrinfo = refuse
before = set(sys.modules)
{code}
print(sorted(name for name in {heavy!r} if name in set(sys.modules) - before), file=sys.stderr)
"""


def _loaded(code: str, heavy: tuple[str, ...] = HEAVY) -> str:
    probe = PROBE.format(code=code, heavy=heavy)
    done = subprocess.run([sys.executable, "-c", probe], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stderr.strip()


ONE_TURN = """
import asyncio, tempfile
from pathlib import Path
import agentflow
project = Path(tempfile.mkdtemp())
(project / "agents" / "test").mkdir(parents=True)
(project / "agents" / "test" / "agent.yaml").write_text("name: test\\nmodel: scripted/hi.yaml\\n")
(project / "agents" / "test" / "hi.yaml").write_text("replies: [{text: hi}]\\n")

async def turn():
    async with agentflow.Runtime.open(project=project, db=f"sqlite:///{project}/a.db") as runtime:
        given = {"type": "client.message", "agent_id": "test", "message": {"role": "user", "content": "hello"}}
        receipt = await runtime.submit("s-1", given)
        return (await runtime.result("s-1", receipt.turn_id)).answer

assert asyncio.run(turn()) == "hi"
"""


def test_a_turn_without_a_tracer_imports_no_telemetry() -> None:
    """R12: nothing and no cost where nobody has set a provider."""
    assert _loaded(ONE_TURN, heavy=("opentelemetry",)) == "[]"


@pytest.mark.parametrize(
    "code",
    [
        "import agentflow",
        "import agentflow; agentflow.__version__; agentflow.AgentflowError",
        "from cli.main import run; assert run(['--help']) == 0",
        "from cli.main import run; assert run(['--version']) == 0",
        "from cli.main import run; assert run(['run', '--help']) == 0",
        "from cli.main import run; assert run(['sessions', '--help']) == 0",
        "from cli.main import run; assert run(['eval', 'run', '--help']) == 0",
        "from cli.main import run; assert run(['chat', '--help']) == 0",
    ],
)
def test_starting_loads_nothing_heavy(code: str) -> None:
    assert _loaded(code) == "[]"
