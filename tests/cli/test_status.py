"""What goes on is seen on a terminal while nothing streams, and told in a line each without one (B77)."""

from __future__ import annotations

import asyncio
import os
import pty
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentflow import Event, Runtime
from cli.terminal.status import Status
from tests.cli.conftest import Command

Spawn = Callable[..., subprocess.Popen[str]]

FLOW = '''
import time


def dawdle() -> str:
    """Take a while."""
    time.sleep(0.3)
    print("from the flow")
    return "**there**"
'''
KEYS = "name: idle\nmodel: scripted/replies.yaml\ntools: [dawdle]\n"
REPLIES = """replies:
- {when: {tool: dawdle}, text: "I am {{ last_tool }}.", repeat: true}
- {text: "Let me see", chunk_size: 3, delay_secs: 0.05, tool_calls: [{name: dawdle, arguments: {}}], repeat: true}
"""
PLAIN = {"NO_COLOR": "1", "TERM": "xterm"}
COLORED = {"NO_COLOR": "", "TERM": "xterm"}


@pytest.fixture
def idle(project: Path) -> None:
    (project / "workflows").mkdir()
    (project / "workflows" / "idle.py").write_text(FLOW)
    folder = project / "agents" / "idle"
    folder.mkdir()
    (folder / "agent.yaml").write_text(KEYS)
    (folder / "replies.yaml").write_text(REPLIES)


def _on_a_terminal(spawn: Spawn, variables: dict[str, str], *arguments: str) -> str:
    """What a terminal gets of both streams of a turn."""
    return _shown_by(spawn, variables, "run", "idle", "Hello", *arguments)


def _shown_by(spawn: Spawn, variables: dict[str, str], *command: str) -> str:
    ours, theirs = pty.openpty()
    process = spawn(*command, stdout=theirs, stderr=theirs, env=variables)
    os.close(theirs)
    pieces: list[bytes] = []
    while piece := _read(ours):
        pieces.append(piece)
    os.close(ours)
    process.communicate(timeout=60)
    assert process.returncode == 0
    return b"".join(pieces).decode()


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 1000)
    except OSError:  # the other end of a terminal was closed
        return b""


@pytest.mark.usefixtures("idle")
def test_a_terminal_shows_the_running_tool_and_takes_it_away(spawn: Spawn) -> None:
    shown = _on_a_terminal(spawn, COLORED)
    assert "dawdle 0 s" in shown
    before, _, after = shown.rpartition("dawdle 0 s")
    assert "Let me see\r\n" in before  # the open line is ended, not drawn into
    assert after.startswith("\r\x1b[J")  # taken away before anything else is written there
    assert "\r\x1b[Jfrom the flow\r\n" in shown
    assert "I am **there**.\r\n" in after
    assert "\x1b[2mnote: " in after
    assert "dawdle" not in after


@pytest.mark.usefixtures("idle")
def test_a_queue_that_is_run_shows_what_goes_on(spawn: Spawn, project: Path) -> None:
    async def queued() -> None:
        async with Runtime.open(project, serve_queues=False) as runtime:
            first = await runtime.submit("s", _said("Hello"), agent="idle")
            await runtime.submit("s", _said("Hello again") | {"queue": True}, agent="idle")
            await runtime.result("s", first.turn_id)

    asyncio.run(queued())
    shown = _shown_by(spawn, COLORED, "sessions", "run-queue", "s")
    assert "dawdle 0 s" in shown
    assert shown.rpartition("dawdle 0 s")[2].count("I am **there**.") == 1


def _said(text: str) -> dict[str, Any]:
    return {"type": "client.message", "message": {"role": "user", "content": text}}


@pytest.mark.usefixtures("idle")
@pytest.mark.parametrize(
    ("variables", "arguments"),
    [(PLAIN, ()), (COLORED | {"TERM": "dumb"}, ()), (COLORED, ("--color", "never"))],
)
def test_a_terminal_that_wants_plain_text_gets_no_codes(
    spawn: Spawn, variables: dict[str, str], arguments: tuple[str, ...]
) -> None:
    shown = _on_a_terminal(spawn, variables, *arguments)
    assert "\x1b" not in shown
    assert "I am **there**.\r\n" in shown


@pytest.mark.usefixtures("idle")
def test_quiet_shows_nothing_of_what_goes_on(spawn: Spawn) -> None:
    assert "dawdle" not in _on_a_terminal(spawn, COLORED, "--quiet")


@pytest.mark.usefixtures("idle")
def test_markdown_is_laid_out_on_a_terminal_and_only_there(spawn: Spawn, agentflow: Command) -> None:
    pytest.importorskip("rich")
    assert "\x1b[1mthere\x1b[0m" in _on_a_terminal(spawn, COLORED, "--markdown")
    assert "**there**" in agentflow("run", "idle", "--markdown", "Hello").out


def _told_after(seconds: float, *, quiet: bool, capsys: pytest.CaptureFixture[str]) -> str:
    call = {"id": "t1", "name": "search", "arguments": "{}", "reply_id": "r"}

    async def follow() -> None:
        async with Status(lambda: None, streams=True, quiet=quiet) as status:
            status.event(Event("s-1", 1, "turn", 0, "tool.call.requested", call))
            if not quiet:
                status.show(asyncio.get_running_loop().time() + seconds)

    asyncio.run(follow())
    return capsys.readouterr().err


def test_without_a_terminal_what_takes_long_is_one_plain_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert _told_after(1.0, quiet=False, capsys=capsys) == ""
    assert _told_after(2.5, quiet=False, capsys=capsys) == "still going on after 2 s: search\n"


def test_a_new_session_is_named_where_nobody_can_be_asked(agentflow: Command) -> None:
    assert "session: " in agentflow("run", "echo", "Hello").err
    assert "session: " not in agentflow("run", "echo", "--quiet", "Hello").err
    assert "session: " not in agentflow("run", "echo", "-s", "s-1", "Hello").err


def test_colours_in_a_pipe_are_asked_for(agentflow: Command) -> None:
    assert "\x1b" not in agentflow("run", "broken", "Hello").err
    assert "\x1b[31merror (model_error.auth)" in agentflow("run", "broken", "--color", "always", "Hello").err
    done = agentflow("run", "echo", "--color", "always", "\x1b[31mred")
    assert done.out == "[31mred\n"
