"""Starting costs little: nothing heavy is loaded and nobody is called (B76)."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.guards.source import ROOT

HEAVY = ("litellm", "sqlmodel", "sqlalchemy", "alembic", "jinja2", "jsonschema", "pydantic", "transitions", "asyncio")

PROBE = """
import socket, sys

def refuse(*_, **__):
    raise AssertionError("the network was touched")

socket.socket.connect = socket.getaddrinfo = refuse
before = set(sys.modules)
{code}
print(sorted(name for name in {heavy!r} if name in set(sys.modules) - before), file=sys.stderr)
"""


def _loaded(code: str) -> str:
    probe = PROBE.format(code=code, heavy=HEAVY)
    done = subprocess.run([sys.executable, "-c", probe], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stderr.strip()


@pytest.mark.parametrize(
    "code",
    [
        "import agentflow",
        "import agentflow; agentflow.__version__; agentflow.AgentflowError",
        "from cli.main import run; assert run(['--help']) == 0",
        "from cli.main import run; assert run(['--version']) == 0",
        "from cli.main import run; assert run(['run', '--help']) == 0",
        "from cli.main import run; assert run(['sessions', '--help']) == 0",
    ],
)
def test_starting_loads_nothing_heavy(code: str) -> None:
    assert _loaded(code) == "[]"
