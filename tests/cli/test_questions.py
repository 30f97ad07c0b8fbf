"""Questions on the command line: asked where somebody sits, told and left open everywhere else (B79)."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Command

Spawn = Callable[..., subprocess.Popen[str]]

CHOICES = """replies:
- {when: {tool: ask_user}, text: "You said {{ last_tool }}.", repeat: true}
- tool_calls:
  - name: ask_user
    arguments:
      questions:
      - {header: Plan, question: "Which plan?", options: [{label: Pro, description: for teams}, {label: Free}]}
      - {header: Extras, question: "Which extras?", multi_select: true, options: [{label: Disk}, {label: Mail}]}
      - {header: Name, question: "Whose account?"}
  repeat: true
"""


@pytest.fixture(autouse=True)
def choosing(project: Path) -> None:
    """An agent that asks three questions at once: a choice, several choices, and an open one."""
    folder = project / "agents" / "choosing"
    folder.mkdir()
    (folder / "agent.yaml").write_text("name: choosing\nmodel: scripted/replies.yaml\n")
    (folder / "replies.yaml").write_text(CHOICES)


class Terminal:
    """A command on a terminal of its own; its standard output is a pipe."""

    def __init__(self, spawn: Spawn, *args: str) -> None:
        self._ours, theirs = pty.openpty()
        self.process = spawn(*args, stdin=theirs, stderr=theirs)
        os.close(theirs)
        self.shown = ""

    def until(self, text: str) -> None:
        while text not in self.shown:
            self.shown += os.read(self._ours, 4096).decode()

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def end(self) -> tuple[int, str]:
        """The exit code and what came on standard output."""
        assert self.process.stdout is not None
        out = self.process.stdout.read()
        code = self.process.wait(timeout=30)
        try:
            while piece := os.read(self._ours, 4096):
                self.shown += piece.decode()
        except OSError:  # how Linux says that the other side is closed
            pass
        return code, out

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._ours)


@pytest.fixture
def terminal(spawn: Spawn) -> Iterator[Callable[..., Terminal]]:
    opened: list[Terminal] = []

    def start(*args: str) -> Terminal:
        opened.append(Terminal(spawn, *args))
        return opened[-1]

    yield start
    for each in opened:
        each.close()


def test_a_question_is_asked_on_a_terminal_and_the_turn_goes_on(terminal: Callable[..., Terminal]) -> None:
    """seed: the turn pauses for the user, the answer resumes it."""
    asked = terminal("run", "choosing", "-s", "s-1", "Hello")
    asked.until("Plan> ")
    assert "1. Pro: for teams" in asked.shown
    asked.type("2\n")
    asked.until("Extras> ")
    asked.type("1, 2\n")
    asked.until("Name> ")
    asked.type("Ann's\n")
    code, out = asked.end()
    assert (code, out) == (0, "You said Plan: Free\nExtras: Disk, Mail\nName: Ann's.\n")


def test_own_words_are_an_answer_too(terminal: Callable[..., Terminal]) -> None:
    asked = terminal("run", "asking", "-s", "s-1", "--json", "Hello")
    asked.until("Plan> ")
    asked.type("neither: I'd rather wait\n")
    code, out = asked.end()
    assert (code, json.loads(out)["answer"]) == (0, "You said Plan: neither: I'd rather wait.")


def test_the_end_of_input_leaves_the_question_open(terminal: Callable[..., Terminal], agentflow: Command) -> None:
    asked = terminal("run", "asking", "-s", "s-1", "Hello")
    asked.until("Plan> ")
    asked.type("\x04")
    assert asked.end()[0] == 4
    assert "answer with: agentflow answer s-1 TEXT" in asked.shown
    assert agentflow("answer", "s-1", "Pro").out == "You said Plan: Pro.\n"


def test_ctrl_c_while_asking_stops_the_turn(terminal: Callable[..., Terminal], agentflow: Command) -> None:
    """B78: the first signal at the prompt ends the turn like a stop, and the session goes on."""
    asked = terminal("run", "asking", "-s", "s-1", "Hello")
    asked.until("Plan> ")
    asked.process.send_signal(signal.SIGINT)
    assert asked.end()[0] == 130
    assert "Traceback" not in asked.shown
    assert "<ABORTED BY USER>" in agentflow("sessions", "show", "s-1").out
    assert agentflow("answer", "s-1", "Pro").code == 5
    assert agentflow("run", "asking", "-s", "s-1", "Again").code == 4


def test_a_process_that_is_told_to_go_while_asking_leaves_the_question_open(
    terminal: Callable[..., Terminal], agentflow: Command
) -> None:
    """T21: a pause survives its process; only its user stops it (D17)."""
    asked = terminal("run", "asking", "-s", "s-1", "Hello")
    asked.until("Plan> ")
    asked.process.send_signal(signal.SIGTERM)
    assert asked.end()[0] == 143
    assert "answer with: agentflow answer s-1 TEXT" in asked.shown
    assert agentflow("answer", "s-1", "Pro").out == "You said Plan: Pro.\n"


@pytest.mark.parametrize("stdin", ["closed", "null", "a pipe"])
def test_without_a_terminal_the_pause_is_stored_and_nothing_is_invented(spawn: Spawn, stdin: str) -> None:
    """B79: never a hang, never an answer nobody gave."""
    streams = {
        "closed": {"stdin": None, "preexec_fn": lambda: os.close(0)},
        "null": {},
        "a pipe": {"stdin": subprocess.PIPE},
    }
    process = spawn("run", "choosing", "-s", "s-1", "--json", "--timeout", "5", "Hello", **streams[stdin])
    out, err = process.communicate(timeout=60)
    assert process.returncode == 4
    assert json.loads(out)["state"] == "paused_ask_user"
    assert [each["header"] for each in json.loads(out)["question"]["questions"]] == ["Plan", "Extras", "Name"]
    assert "answer with: agentflow answer s-1 --choice Plan=Pro --choice Extras=Disk --choice Name=TEXT" in err


def test_the_command_that_is_printed_answers(agentflow: Command, project: Path) -> None:
    """T31 of the interface: exit code 4 and the exact command, with the database it was given."""
    asked = agentflow("run", "choosing", "--db", "my data.db", "-s", "a b", "Hello")
    told = re.search(r"answer with: agentflow (.*)", asked.err)
    assert asked.code == 4
    assert told is not None
    import shlex

    answered = agentflow(*shlex.split(told.group(1)))
    assert (answered.code, answered.out) == (0, "You said Plan: Pro\nExtras: Disk\nName: TEXT.\n")


def test_choices_and_a_text_are_put_together(agentflow: Command) -> None:
    agentflow("run", "choosing", "-s", "s-1", "Hello")
    answered = agentflow(
        "answer",
        "s-1",
        "--choice",
        "Extras=Mail",
        "--choice",
        "Extras=a: b\nc",
        "--choice",
        "Plan=Pro",
        "Ann",
        "--json",
    )
    assert json.loads(answered.out)["answer"] == "You said Plan: Pro\nExtras: Mail, a: b c\nName: Ann."


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (["--choice", "Plan"], 2, "is not HEADER=LABEL"),
        (["--choice", "Colour=red"], 2, "answers.Colour: no question has this header"),
        (["--choice", "Plan=a", "--choice", "Extras=b", "--choice", "Name=c", "more"], 2, "leave out TEXT"),
        ([], 2, "there is no answer"),
    ],
)
def test_an_answer_that_fits_no_question_changes_nothing(
    agentflow: Command, args: list[str], code: int, said: str
) -> None:
    agentflow("run", "choosing", "-s", "s-1", "Hello")
    refused = agentflow("answer", "s-1", *args)
    assert (refused.code, refused.out) == (code, "")
    assert said in refused.err
    assert agentflow("answer", "s-1", "--choice", "Plan=Pro").code == 0


def test_a_second_answer_is_refused(agentflow: Command) -> None:
    """Exit code 5: answered already, or nothing asked."""
    agentflow("run", "asking", "-s", "s-1", "Hello")
    assert agentflow("answer", "s-1", "Pro").code == 0
    again = agentflow("answer", "s-1", "Free")
    assert (again.code, again.out) == (5, "")
    assert agentflow("answer", "nobody", "x").code == 3


def test_a_stop_closes_a_question_and_says_what_it_did(agentflow: Command) -> None:
    """T25: stopping an idle session is a harmless no-op that says so."""
    agentflow("run", "asking", "-s", "s-1", "Hello")
    stopped = agentflow("stop", "s-1")
    assert (stopped.code, stopped.out.split()[0]) == (0, "stopped")
    assert agentflow("stop", "s-1").out == "nothing to stop\n"
    assert agentflow("answer", "s-1", "Pro").code == 5
    assert agentflow("stop", "nobody").code == 3


def test_a_turn_is_stopped_from_another_terminal(spawn: Spawn, agentflow: Command) -> None:
    """T23: from any process."""
    process = spawn("run", "slow", "-s", "s-1", "--jsonl", "Hello")
    assert process.stdout is not None
    for line in process.stdout:
        if json.loads(line)["type"] == "llm.delta":
            break
    assert agentflow("stop", "s-1").out.startswith("stopped turn ")
    out, _ = process.communicate(timeout=30)
    result = json.loads(out.splitlines()[-1])
    assert (process.returncode, result["state"], result["aborted"]) == (1, "aborted", True)
    assert result["answer"].startswith("one")
