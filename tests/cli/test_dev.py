"""`dev`: on each save check, compare and test what it concerns."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from cli.dev import dev
from cli.dev.rounds import Rounds
from cli.terminal.output import Output
from tests.cli.conftest import Command

Save = tuple[str, str]


@pytest.fixture
def developed(
    agentflow: Command, project: Path, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[str, str, list[str]]]:
    """What people read, and the tests that were run, while files are saved one after the other."""
    tested: list[str] = []

    def test(root: Path, names: Sequence[str]) -> None:
        assert root == project
        tested.extend(names)

    def develop(*saves: Save) -> tuple[str, str, list[str]]:
        def watch() -> Iterator[frozenset[Path]]:
            for name, text in saves:
                (project / name).parent.mkdir(exist_ok=True)
                (project / name).write_text(text)
                yield frozenset({project / name})

        capsys.readouterr()
        dev.follow(project, Rounds(Output(sys.stdout), project, None, test), watch())
        said = capsys.readouterr()
        return said.out, said.err, tested

    return develop


ECHO = "agents/echo/agent.yaml"
HEAD = "version: 1\nname: echo\nmodel: scripted/replies.yaml\n"


def test_a_save_says_what_it_does_to_the_next_request_and_runs_the_tests_it_touches(
    agentflow: Command, project: Path, developed: Callable[..., tuple[str, str, list[str]]]
) -> None:
    agentflow("run", "echo", "-s", "one", "Hi.")
    agentflow("run", "slow", "-s", "other", "Hi.")
    (project / "tests").mkdir()
    (project / "tests" / "test_echo.py").write_text("AGENT = 'echo'\n")
    (project / "tests" / "test_slow.py").write_text("AGENT = 'slow'\n")
    out, err, tested = developed((ECHO, HEAD + "prompt: Say it all again.\n"), (ECHO, HEAD + "prompt: Say it again.\n"))
    first, second = out.splitlines()
    assert first.startswith("session one (echo): prefix lost from message 1, ")
    assert second.startswith("session one (echo): prefix lost from character 9 of the system prompt, ")
    assert second.endswith("tokens (-1)")
    assert tested == ["tests/test_echo.py"] * 2
    assert "changed: agents/echo/agent.yaml" in err


def test_a_mistake_is_told_and_nothing_else_until_it_is_mended(
    agentflow: Command, developed: Callable[..., tuple[str, str, list[str]]], project: Path
) -> None:
    agentflow("run", "echo", "-s", "one", "Hi.")
    (project / "tests").mkdir()
    (project / "tests" / "test_echo.py").write_text("AGENT = 'echo'\n")
    out, err, tested = developed((ECHO, HEAD + "prompd: x\n"), (ECHO, HEAD + "prompt: x\n"))
    assert out.splitlines()[0] == f"{ECHO}:4:1: prompd: unknown key, did you mean 'prompt'? [unknown-key]"
    assert "tests are run again when nothing is wrong any more" in err
    assert out.splitlines()[-1].startswith("session one (echo): prefix lost")
    assert tested == ["tests/test_echo.py"]


def test_what_changes_no_request_says_so(
    agentflow: Command, developed: Callable[..., tuple[str, str, list[str]]]
) -> None:
    agentflow("run", "echo", "-s", "one", "Hi.")
    out, err, tested = developed((ECHO, HEAD + "settings: {max_iterations: 3}\n"))
    assert (out, tested) == ("", [])
    assert "the next requests of 1 recent sessions stay as they are" in err


def test_a_session_that_needs_inputs_is_left_out_with_the_reason(
    agentflow: Command, developed: Callable[..., tuple[str, str, list[str]]]
) -> None:
    agentflow("run", "informed", "-s", "one", "--input", "city=Bonn", "Hi.")
    _, err, _ = developed((ECHO, HEAD + "prompt: x\n"))
    assert "session one is not compared: " in err
    assert "city" in err


def test_a_new_flow_is_imported_anew(agentflow: Command, developed: Callable[..., tuple[str, str, list[str]]]) -> None:
    agentflow("run", "echo", "-s", "one", "Hi.")
    flow = "def look(at: str) -> str:\n    '''{}'''\n    return at\n"
    out, _, _ = developed(
        (ECHO, HEAD + "tools: [look]\n"),
        ("workflows/mine.py", flow.format("Look.")),
        ("workflows/mine.py", flow.format("Look well.")),
    )
    lines = [line for line in out.splitlines() if line.startswith(("agents", "session"))]
    assert "[flow]" in lines[0]
    assert "the tool look is new" in lines[1]
    assert "the tool look is described differently" in lines[2]


def test_the_command_watches_until_it_is_ended(
    agentflow: Command, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first round is about everything; a save by rename is heard."""
    clock = iter(range(10_000))
    monkeypatch.setattr(dev.time, "monotonic", lambda: float(next(clock)))
    saves = iter(["prompt: a\n", None, None, "prompt: b\n", None, None])

    def sleep(_: float) -> None:
        save = next(saves, "end")
        if save == "end":
            raise KeyboardInterrupt
        if save is not None:
            (project / ".swap").write_text(HEAD + save)
            (project / ".swap").replace(project / ECHO)

    monkeypatch.setattr(dev, "changes", lambda root: _changes(root, sleep))
    done = agentflow("dev")
    assert done.code == 130
    assert done.err.count("changed: agents/echo/agent.yaml") == 2
    assert "7 checked, 0 with errors" in done.err


_changes = dev.changes
