"""Standard output is the result alone, whatever flows, hooks and their children do to descriptor 1 (B77, D71)."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Command

Spawn = Callable[..., subprocess.Popen[str]]

FLOWS = '''
import os
import subprocess
import sys

print("printed at import")
os.write(1, b"written at import\\n")


def shout(text: str = "") -> str:
    """Print wherever one can."""
    print("printed in a tool")
    os.write(1, b"written in a tool\\n")
    sys.__stdout__.write("past sys.stdout\\n")
    sys.__stdout__.flush()
    subprocess.run(["echo", "said by a child"], check=True)
    return "quiet"


def hook(**told) -> None:
    """Print in a hook."""
    print("printed in a hook")
'''
KEYS = "name: noisy\nmodel: scripted/replies.yaml\ntools: [shout]\nhooks: {pre_tool: [hook]}\n"
REPLIES = """replies:
- {when: {tool: shout}, text: "It is {{ last_tool }}.", repeat: true}
- {tool_calls: [{name: shout, arguments: {}}], repeat: true}
"""


@pytest.fixture
def noisy(project: Path) -> None:
    (project / "workflows").mkdir()
    (project / "workflows" / "noise.py").write_text(FLOWS)
    folder = project / "agents" / "noisy"
    folder.mkdir()
    (folder / "agent.yaml").write_text(KEYS)
    (folder / "replies.yaml").write_text(REPLIES)


@pytest.mark.usefixtures("noisy")
def test_the_result_is_one_json_object_and_the_noise_goes_to_standard_error(spawn: Spawn) -> None:
    process = spawn("run", "noisy", "--json", "Hello")
    out, err = process.communicate(timeout=60)
    assert json.loads(out)["answer"] == "It is quiet."
    for noise in ("printed at import", "written at import", "printed in a tool", "written in a tool"):
        assert noise in err
    for noise in ("past sys.stdout", "said by a child", "printed in a hook"):
        assert noise in err


@pytest.mark.usefixtures("noisy")
@pytest.mark.parametrize("arguments", [("explain", "noisy", "--json"), ("validate", "noisy")])
def test_what_is_printed_at_import_is_no_result(spawn: Spawn, arguments: tuple[str, ...]) -> None:
    out, err = spawn(*arguments).communicate(timeout=60)
    assert "at import" not in out
    assert "written at import" in err


@pytest.mark.parametrize("arguments", [("--help",), ("sessions", "-h"), ("run", "--help")])
def test_help_is_a_result_that_was_asked_for(agentflow: Command, arguments: tuple[str, ...]) -> None:
    done = agentflow(*arguments)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("Usage: agentflow")
    assert "-h, --help" in done.out
