"""R12: `sessions export` writes the file it is told and no other, `sessions import` prints what came in."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Command


@pytest.fixture
def greeted(agentflow: Command, project: Path) -> Path:
    assert agentflow("run", "echo", "-s", "s-1", "hi \u202e there").code == 0
    return project


def test_an_export_goes_to_standard_output_as_markdown(greeted: Path, agentflow: Command) -> None:
    done = agentflow("sessions", "export", "s-1")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("# Session `s-1`\n")


@pytest.mark.parametrize("name", ["s.json", "s.jsonl"])
def test_a_file_that_was_written_is_read_again(greeted: Path, agentflow: Command, name: str) -> None:
    assert agentflow("sessions", "export", "s-1", "-o", name).err == f"wrote {name}\n"
    assert (greeted / name).stat().st_mode & 0o777 == 0o600
    refused = agentflow("sessions", "import", name)
    assert (refused.code, refused.out) == (2, "")
    assert refused.err.startswith("error (session_taken): There is a session 's-1' already")
    assert agentflow("sessions", "import", name, "--as", "s-2").out == "s-2\n"
    copied = json.loads(agentflow("sessions", "import", name, "--copy", "--json").out)["session_id"]
    assert copied not in ("s-1", "s-2")
    assert agentflow("sessions", "rm", "s-1").code == 0
    assert agentflow("sessions", "import", name).out == "s-1\n"
    assert agentflow("sessions", "export", "s-1", "-o", f"again-{name}").code == 0
    assert (greeted / f"again-{name}").read_bytes() == (greeted / name).read_bytes()


def test_what_is_piped_comes_in(greeted: Path, agentflow: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    text = agentflow("sessions", "export", "s-1", "--format", "jsonl").out
    assert "\u202e" not in text
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert agentflow("sessions", "import", "-", "--as", "s-2").out == "s-2\n"


def test_a_file_that_is_there_is_not_written_over(greeted: Path, agentflow: Command) -> None:
    (greeted / "s.md").write_text("mine")
    refused = agentflow("sessions", "export", "s-1", "-o", "s.md")
    assert refused.code == 2
    assert "s.md is there already: --force writes over it" in refused.err
    assert (greeted / "s.md").read_text() == "mine"
    assert agentflow("sessions", "export", "s-1", "-o", "s.md", "--force").code == 0
    assert (greeted / "s.md").read_text().startswith("# Session")


def test_an_id_makes_no_path(agentflow: Command, project: Path) -> None:
    """F20."""
    ids = ["../../pwned", "..", "a/b", ".hidden", "x" * 150, "x" * 151]
    for each in ids:
        assert agentflow("run", "echo", "-s", each, "hi").code == 0
    before = {path for path in project.rglob("*") if path.parent.name != "out"}
    assert agentflow("sessions", "export", *ids, "--format", "html", "-o", "out").code == 0
    assert {path for path in project.rglob("*") if path.parent.name != "out"} - before == {project / "out"}
    assert len(list((project / "out").iterdir())) == len(ids)
    assert not any(path.name.startswith(".") for path in (project / "out").iterdir())


def test_nothing_is_left_of_an_export_that_fails(greeted: Path, agentflow: Command) -> None:
    before = set(greeted.rglob("*"))
    assert agentflow("sessions", "export", "nobody", "-o", "s.json").code == 3
    assert set(greeted.rglob("*")) == before


def test_a_broken_file_is_refused_by_its_line(greeted: Path, agentflow: Command) -> None:
    lines = agentflow("sessions", "export", "s-1", "--format", "jsonl").out.splitlines()
    (greeted / "cut.jsonl").write_text("\n".join(lines[:-1]))
    refused = agentflow("sessions", "import", "cut.jsonl", "--copy")
    assert (refused.code, refused.out) == (2, "")
    assert "no line says end" in refused.err


def test_what_does_not_go_together_is_a_mistake_of_the_command_line(greeted: Path, agentflow: Command) -> None:
    assert agentflow("sessions", "import", "x", "--copy", "--as", "y").code == 2
    assert agentflow("sessions", "export", "s-1", "s-2").code == 2
