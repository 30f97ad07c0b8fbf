"""`doctor`: each failure names what mends it, and gives exit code 1."""

from __future__ import annotations

import json
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Command
from tests.stub_server import Answer, serve_in_thread


@pytest.fixture
def checks(agentflow: Command) -> Any:
    """Runs it and gives `(exit code, {name: [check]})`."""

    def run(*options: str) -> tuple[int, dict[str, list[dict[str, Any]]]]:
        done = agentflow("doctor", "--json", "--port", "18080", *options)
        found: dict[str, list[dict[str, Any]]] = {}
        for each in json.loads(done.out)["checks"]:
            assert (each["fix"] is not None) == (each["state"] in ("failed", "warning"))
            found.setdefault(each["name"], []).append(each)
        return done.code, found

    return run


def test_a_project_that_is_well_has_no_failure_and_nothing_is_made(checks: Any, project: Path) -> None:
    before = sorted(project.rglob("*"))
    code, found = checks()
    assert code == 0
    assert {each["state"] for each in chain.from_iterable(found.values())} <= {"ok", "skipped"}
    assert sorted(project.rglob("*")) == before


def test_mistakes_and_missing_keys_fail_with_the_command_and_the_variable(
    checks: Any, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    (project / "agents/echo/agent.yaml").write_text("name: echo\nmodel: openai/gpt-4o\n")
    (project / "agents/slow/agent.yaml").write_text("name: slow\nmodle: x\n")
    code, found = checks()
    assert code == 1
    assert (found["agents"][0]["state"], found["agents"][0]["said"]) == ("failed", "mistakes in slow (2)")
    assert found["agents"][0]["fix"].startswith("agentflow validate slow")
    (key,) = found["keys"]
    assert key["state"] == "failed"
    assert key["fix"].startswith("set OPENAI_API_KEY")


def test_a_project_file_that_cannot_be_read_is_told(checks: Any, project: Path) -> None:
    (project / "agentflow.yaml").write_text("dp: x\n")
    code, found = checks()
    assert (code, found["project"][0]["state"]) == (1, "failed")


def test_models_are_asked_only_when_told_to(checks: Any, project: Path) -> None:
    with serve_in_thread(lambda _: Answer(status=401, error="no")) as stub:
        interface = f"{{model: openai/any, api_base: '{stub.openai_base}', api_key: horse-battery}}"
        (project / "agents/echo/agent.yaml").write_text(f"name: echo\ninterfaces:\n  main: {interface}\n")
        assert checks()[0] == 0
        assert len(stub.requests) == 0
        code, found = checks("--connect")
        assert (code, len(stub.requests)) == (1, 1)
    states = [each["state"] for each in found["models"]]
    assert states.count("failed") == 1
    assert set(states) == {"failed", "skipped"}
    assert "horse-battery" not in json.dumps(found)


@pytest.mark.parametrize("db", ["postgresql+psycopg://127.0.0.1:9/none", "no/such/folder/a.db", "mysql://x/y", " "])
def test_a_database_that_cannot_be_used_fails(agentflow: Command, db: str) -> None:
    done = agentflow("doctor", "--db", db)
    assert done.code == (1 if db.strip() else 2)
    assert not db.strip() or "failed   database" in done.out


def test_people_read_a_line_for_each_and_what_mends_it_below(agentflow: Command, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = agentflow("doctor", "--project", "empty", "--db", "x.db")
    assert done.code == 0
    lines = done.out.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("warning  agents"))
    assert lines[at + 1].strip() == "-> agentflow init writes a project to start from"
