"""A chat on a terminal of 80 columns and 24 lines, in a process of its own (Z5, F62)."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.chat.conftest import Terminal
from tests.cli.conftest import Command

Start = Callable[..., Terminal]

LINES = [f"line {number}" for number in range(50)]
LINES[25] = "/quit"


def _user_messages(agentflow: Command, session: str) -> int:
    return agentflow("sessions", "tree", session).out.count("  user: ")


def test_a_paste_of_fifty_lines_is_one_message(terminal: Start, agentflow: Command) -> None:
    """F62: sent once, by Enter; its `/quit` quits nothing; the terminal is as it was afterwards."""
    chat = terminal("chat", "talk", "-s", "s-1")
    chat.until("/help lists the commands", ">")
    chat.types("\x1b[200~" + "\r\n".join(LINES) + "\r\n\x1b[201~")
    chat.until("line 49")
    chat.types("\r")
    chat.until("> line 0", "... 38 more lines", "line 48")
    chat.types("\x04")
    assert chat.end() == 0
    assert _user_messages(agentflow, "s-1") == 1
    assert chat.is_cooked()


def test_ctrl_c_stops_the_turn_and_a_second_one_leaves(terminal: Start, agentflow: Command) -> None:
    """B78: by the key, which is no signal while the chat reads; the exit code is that of the signal."""
    chat = terminal("chat", "talk", "-s", "s-1")
    chat.until("/help lists the commands", ">")
    chat.types("slow\r")
    chat.until("> slow", "one")
    chat.types("\x03")
    chat.until("once more leaves", "stopped; what was said is kept")
    chat.types("\x03")
    assert chat.end() == 130
    assert "Traceback" not in chat.raw
    assert "<ABORTED BY USER>" in agentflow("sessions", "show", "s-1").out
    assert chat.is_cooked()


def test_a_question_is_answered_by_keys_after_coming_back(terminal: Start) -> None:
    """T21: the first process is told to go while it asks; the second one asks again and runs the turn on."""
    first = terminal("chat", "talk", "-s", "s-1")
    first.until("/help lists the commands", ">")
    first.types("ask me\r")
    first.until("1. Pro: for teams", "Plan>")
    first.process.send_signal(signal.SIGTERM)
    assert first.end() == 143
    assert "the question stays open" in first.shown
    second = terminal("chat", "-s", "s-1")
    second.until("user: ask me", "1. Pro: for teams", "Plan>")
    second.types("2\r")
    second.until("> Plan: Free", "Extras>")
    second.types("1,2\r")
    second.until("You said Plan: Free Extras: Disk, Mail.")
    second.types("/quit\r")
    assert second.end() == 0
    assert "\x1b[3" not in second.raw  # NO_COLOR


def test_what_flows_and_the_log_print_goes_above_the_input(terminal: Start, talking: Path) -> None:
    """F34: also what a child process writes past Python."""
    (talking / "workflows").mkdir()
    (talking / "workflows" / "loud.py").write_text(
        "import os, subprocess, sys\n\n\ndef loud() -> str:\n"
        '    """Print."""\n'
        '    print("from\\x1b[2J python")\n'
        '    os.write(1, b"from descriptor 1\\n")\n'
        '    subprocess.run(["sh", "-c", "echo from a child >&2"], check=True)\n'
        '    sys.stderr.write("x" * 300_000 + "\\n")\n'
        '    return "done"\n'
    )
    folder = talking / "agents" / "loud"
    folder.mkdir()
    (folder / "agent.yaml").write_text("name: loud\nmodel: scripted/replies.yaml\ntools: [loud]\n")
    (folder / "replies.yaml").write_text(
        "replies:\n- {when: {has_tool_result: true}, text: It is done., repeat: true}\n"
        "- {tool_calls: [{name: loud}], repeat: true}\n"
    )
    chat = terminal("chat", "loud", "-s", "s-1")
    chat.until("/help lists the commands", ">")
    chat.types("go\r")
    chat.until("It is done.")
    for text in ("from[2J python", "from descriptor 1", "from a child"):
        assert text in chat.shown
    chat.types("/quit\r")
    assert chat.end() == 0


def test_a_dumb_terminal_gets_lines_and_no_code(terminal: Start, agentflow: Command) -> None:
    """B77: questions too; lines that come at once are one input, and no command of it is taken."""
    chat = terminal("chat", "talk", "-s", "s-1", TERM="dumb")
    chat.until("/help lists the commands", "> ")
    chat.types("ask me\n")
    chat.until("2. Free", "Plan> ")
    chat.types("2\n")
    chat.until("Extras> ")
    chat.types("own words\n")
    chat.until("You said Plan: Free", "Extras: own words.", "> ")
    chat.types("one\n/quit\nthree\n")
    chat.until("  one", "  three")
    chat.types("/context\n")
    chat.until("of 8,000 tokens")
    chat.types("\x04")
    assert chat.end() == 0
    assert "\x1b" not in chat.raw
    assert _user_messages(agentflow, "s-1") == 2


@pytest.mark.parametrize("term", ["xterm", "dumb"])
def test_a_terminal_that_is_closed_ends_the_chat(terminal: Start, term: str) -> None:
    """No hang and no traceback where nobody reads."""
    chat = terminal("chat", "talk", "-s", "s-1", TERM=term)
    chat.until("/help lists the commands", ">")
    chat.hang_up()
    assert chat.process.wait(20) in (0, 129)


def test_without_a_terminal_the_command_for_that_is_named(agentflow: Command, talking: Path) -> None:
    """Never a hang, never a prompt into a pipe."""
    refused = agentflow("chat", "talk")
    assert (refused.code, refused.out) == (2, "")
    assert "agentflow run" in refused.err


def test_an_agent_has_to_be_named_where_there_are_several(terminal: Start) -> None:
    chat = terminal("chat", "-s", "nobody")
    assert chat.end() == 2
    assert "name the AGENT" in chat.raw
    assert "doing" in chat.raw
    other = terminal("chat", "nobody")
    assert other.end() == 3
    assert "agent_not_found" in other.raw


def test_a_session_of_another_agent_is_refused(terminal: Start, agentflow: Command) -> None:
    agentflow("run", "echo", "-s", "s-1", "Hello")
    chat = terminal("chat", "talk", "-s", "s-1")
    assert chat.end() == 2
    assert "leave out AGENT" in chat.raw
    assert "Traceback" not in chat.raw
