"""A blank or odd value of an option is an error that names it, never a new session or another database (D73, D76)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.guards.source import ROOT


@pytest.mark.parametrize(
    ("option", "command"),
    [
        ("--session", ("run", "echo", "Hello")),
        ("--fork", ("run", "echo", "Hello", "-s", "s-1")),
        ("--queue", ("run", "echo", "Hello", "-s", "s-1")),
        ("--input", ("run", "echo", "Hello")),
        ("--max-iterations", ("run", "echo", "Hello")),
        ("--max-cost", ("run", "echo", "Hello")),
        ("--timeout", ("run", "echo", "Hello")),
        ("--project", ("run", "echo", "Hello")),
        ("--db", ("run", "echo", "Hello")),
        ("--tool", ("answer", "s-1", "Hello")),
        ("--choice", ("answer", "s-1")),
        ("--agent", ("sessions", "ls")),
        ("--cursor", ("sessions", "ls")),
        ("--turn", ("trace", "s-1")),
        ("--after", ("events", "s-1")),
    ],
)
@pytest.mark.parametrize("value", ["", " "])
def test_a_blank_value_is_an_error_that_names_its_option(
    agentflow: Command, project: Path, option: str, command: tuple[str, ...], value: str
) -> None:
    done = agentflow(*command, option, value)
    assert (done.code, done.out) == (2, "")
    assert option in done.err
    assert not (project / "agentflow.db").exists()


@pytest.mark.parametrize("command", [("run", "", "Hello"), ("sessions", "show", ""), ("stop", " "), ("init", "")])
def test_a_blank_argument_is_an_error(agentflow: Command, command: tuple[str, ...]) -> None:
    done = agentflow(*command)
    assert (done.code, done.out) == (2, "")
    assert "it is blank" in done.err


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("~nobody-of-this-name.db", "./~nobody-of-this-name.db"),
        ("a?b.db", "a path has no '?'"),
        (".", "is a folder; name a file in it"),
        ("missing/x.db", "there is no folder"),
        ("mysql://host/name", "is not understood"),
        ("sqlite://x.db", "three slashes"),
        ("sqlite:///x.db?mode=ro", "unknown option"),
    ],
)
def test_an_odd_database_is_an_error_that_says_why(agentflow: Command, project: Path, value: str, why: str) -> None:
    done = agentflow("run", "echo", "Hello", "--db", value)
    assert (done.code, done.out) == (2, "")
    assert "Invalid value for '--db'" in done.err
    assert why in done.err
    assert "Traceback" not in done.err
    assert list(project.glob("**/*.db")) == []


def test_a_place_that_cannot_be_written_is_an_error_for_a_turn_and_none_for_a_look(agentflow: Command) -> None:
    """D73"""
    done = agentflow("run", "echo", "Hello", "--db", "/proc/x.db")  # where not even root can make a file
    assert (done.code, done.out) == (2, "")
    assert "cannot be made or written" in done.err
    assert "Traceback" not in done.err
    assert agentflow("sessions", "ls", "--db", "/proc/x.db").code == 0


def test_an_odd_database_of_the_environment_is_told_without_an_option(
    agentflow: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTFLOW_DB", "a?b.db")
    done = agentflow("run", "echo", "Hello")
    assert done.code == 2
    assert "error (invalid_input): db: 'a?b.db' is a path" in done.err


def test_a_percent_sign_in_a_path_is_itself(agentflow: Command, project: Path) -> None:
    assert agentflow("run", "echo", "Hello", "--db", "100%41.db").code == 0
    assert (project / "100%41.db").exists()


def test_without_a_home_one_line_says_what_to_do(
    agentflow: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Outside of a project; inside of one nobody's home is needed."""

    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    (tmp_path / "outside").mkdir()
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    done = agentflow("sessions", "ls", "--project", "outside")
    assert (done.code, done.out) == (2, "")
    assert "--db" in done.err
    assert "Traceback" not in done.err
    assert agentflow("run", "echo", "Hello").code == 0


def test_a_home_that_cannot_be_written_is_an_error_for_a_turn_and_none_for_a_look(
    agentflow: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "outside").mkdir()
    monkeypatch.setenv("XDG_DATA_HOME", "/proc")  # where not even root can make a folder
    assert agentflow("sessions", "ls", "--project", "outside").code == 0
    done = agentflow("run", "agents/echo", "Hello", "--project", "outside")
    assert (done.code, done.out) == (2, "")
    assert "which cannot be used" in done.err


def test_a_look_makes_no_folder_in_the_home(
    agentflow: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Z1: nothing is made."""
    (tmp_path / "outside").mkdir()
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert agentflow("sessions", "ls", "--project", "outside").code == 0
    assert not (tmp_path / "data").exists()


def test_the_package_runs_as_a_module() -> None:
    command = [sys.executable, "-m", "agentflow", "--version"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("agentflow ")
