"""A signal while a tool runs: the turn ends at once, whatever the tool thinks of it (B78)."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Command

Spawn = Callable[..., subprocess.Popen[str]]

FLOWS = '''
import asyncio
import time


def hold() -> str:
    """Hold the thread."""
    time.sleep(300)
    return "late"


async def wait() -> str:
    """Wait on the loop."""
    await asyncio.sleep(300)
    return "late"


async def insist() -> str:
    """Refuse to be cancelled."""
    while True:
        try:
            await asyncio.sleep(300)
        except asyncio.CancelledError:
            continue
'''
KEYS = "name: busy\nmodel: scripted/replies.yaml\ntools: [hold, wait, insist]\n"
REPLIES = """replies:
- {when: {last_user: again}, text: "Here I am.", repeat: true}
- {when: {last_user: "(?P<tool>hold|wait|insist)"}, tool_calls: [{name: TOOL, arguments: {}}], repeat: true}
"""


@pytest.mark.parametrize("tool", ["hold", "wait", "insist"])
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_during_a_tool_closes_its_call_and_ends_the_process(
    spawn: Spawn, agentflow: Command, project: Path, tool: str, number: signal.Signals, code: int
) -> None:
    (project / "workflows").mkdir()
    (project / "workflows" / "slowly.py").write_text(FLOWS)
    folder = project / "agents" / "busy"
    folder.mkdir()
    (folder / "agent.yaml").write_text(KEYS)
    (folder / "replies.yaml").write_text(REPLIES.replace("TOOL", tool))
    process = spawn("run", "busy", "-s", "s-1", "--jsonl", f"please {tool}")
    assert process.stdout is not None
    for line in process.stdout:
        if json.loads(line)["type"] == "tool.call.requested":
            break
    process.send_signal(number)
    _, err = process.communicate(timeout=30)
    assert process.returncode == code
    assert "Traceback" not in err
    transcript = agentflow("sessions", "show", "s-1").out
    assert "outcome is unknown" in transcript
    assert ("<ABORTED BY USER>" in transcript) == (number == signal.SIGINT)  # who ends a process is not its user
    assert agentflow("run", "busy", "-s", "s-1", "again").out == "Here I am.\n"
