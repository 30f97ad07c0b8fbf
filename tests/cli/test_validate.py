"""`validate` as a linter: its formats, standard input, and `--fix` (A2, A4)."""

from __future__ import annotations

import io
import json
import stat
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.cli.conftest import Command

TEXT = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string", "minLength": 1}}}
PLACE = {
    "type": "object",
    "required": ["artifactLocation", "region"],
    "properties": {
        "artifactLocation": {"properties": {"uri": {"type": "string", "format": "uri-reference"}}},
        "region": {
            "properties": {
                "startLine": {"type": "integer", "minimum": 1}, "startColumn": {"type": "integer", "minimum": 1}
            },
            "additionalProperties": False,
        },
    },
    "additionalProperties": False,
}  # fmt: skip
SARIF = {
    "type": "object",
    "required": ["version", "runs"],
    "properties": {
        "$schema": {"type": "string", "format": "uri"},
        "version": {"const": "2.1.0"},
        "runs": {"minItems": 1, "items": {"required": ["tool", "results"], "properties": {
            "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
            "tool": {"required": ["driver"], "properties": {"driver": {"required": ["name"], "properties": {
                "name": {"type": "string"}, "version": {"type": "string"},
                "rules": {"uniqueItems": True, "items": {
                    "required": ["id"], "properties": {"id": {"type": "string"}, "shortDescription": TEXT},
                    "additionalProperties": False,
                }},
            }, "additionalProperties": False}}, "additionalProperties": False},
            "results": {"items": {"required": ["message"], "properties": {
                "ruleId": {"type": "string"}, "ruleIndex": {"type": "integer", "minimum": -1}, "message": TEXT,
                "level": {"enum": ["none", "note", "warning", "error"]},
                "locations": {"items": {"properties": {"physicalLocation": PLACE}, "additionalProperties": False}},
            }, "additionalProperties": False}},
        }, "additionalProperties": False}},
    },
    "additionalProperties": False,
}  # fmt: skip
"""What SARIF 2.1.0 has of the properties that are written here."""


def mistaken(project: Path, keys: str, agent: str = "echo") -> Path:
    file = project / "agents" / agent / "agent.yaml"
    file.write_text(file.read_text() + keys)
    return file


def read_in(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))


def test_a_complaint_ends_with_its_code(agentflow: Command, project: Path) -> None:
    mistaken(project, "settings: {lean_histroy: true, memory: true}\n")
    done = agentflow("validate", "echo")
    assert done.code == 2
    head = "agents/echo/agent.yaml:4:12: settings.lean_histroy: unknown key, did you mean 'lean_history'? [unknown-key]"
    assert done.out.splitlines()[0] == head
    assert "[no-effect]" in done.out


def test_sarif_has_the_shape_of_2_1_0(agentflow: Command, project: Path) -> None:
    mistaken(project, "tools: [no_such, task]\nsettings: {memory: true}\n")
    mistaken(project, "description: Antwort auf höfliche Fragen 100%\ntools: [no_such]\n", "slow")
    done = agentflow("validate", "--format", "sarif")
    log: dict[str, Any] = json.loads(done.out)
    jsonschema.Draft7Validator(SARIF).validate(log)
    (run,) = log["runs"]
    found = [(each["ruleId"], each["level"]) for each in run["results"]]
    assert found == [("flow", "error"), ("built-in-name", "error"), ("no-effect", "warning"), ("flow", "error")]
    rules = run["tool"]["driver"]["rules"]
    assert all(rules[each["ruleIndex"]]["id"] == each["ruleId"] for each in run["results"])
    places = [each["locations"][0]["physicalLocation"] for each in run["results"]]
    assert places[1] == {
        "artifactLocation": {"uri": "agents/echo/agent.yaml"}, "region": {"startLine": 4, "startColumn": 18}
    }  # fmt: skip
    assert done.code == 2


def test_github_is_told_the_place_with_what_could_be_read_as_its_own_escaped(agentflow: Command, project: Path) -> None:
    mistaken(project, "settings: {'a%,\\n:': 1}\n".replace("'", '"'))
    done = agentflow("validate", "echo", "--format", "github")
    assert done.out.startswith("::error file=agents/echo/agent.yaml,line=4,col=12,title=unknown-key::settings.a%25,")
    assert len(done.out.splitlines()) == 1
    assert done.code == 2


def test_the_text_of_an_editor_is_checked_without_its_file(
    agentflow: Command, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project / "agents" / "echo")
    text = Path("agent.yaml").read_text()
    read_in(monkeypatch, text)
    assert (agentflow("validate", "-").code, Path("agent.yaml").read_text()) == (0, text)
    read_in(monkeypatch, text + "tools: [no_such]\n")
    done = agentflow("validate", "-", "--json")
    (found,) = json.loads(done.out)["agents"]
    (error,) = found["errors"]
    assert (done.code, found["agent"]) == (2, "-")
    assert (error["file"], error["line"], error["code"], error["fixable"]) == ("agent.yaml", 4, "flow", False)


def test_standard_input_must_be_one_and_is_not_mended(agentflow: Command) -> None:
    assert agentflow("validate", "-").code == 2
    assert "standard input" in agentflow("validate", "-", "--fix").err


def test_fix_mends_what_is_certain_in_the_agent_and_its_project(agentflow: Command, project: Path) -> None:
    text = "\ufeff" + (project / "agents/echo/agent.yaml").read_text().replace("\n", "\r\n")
    file = project / "agents" / "echo" / "agent.yaml"
    file.write_bytes((text + "settings: {max_turns: '3', lean_histroy: true} # mine\r\n").encode())
    file.chmod(0o640)
    (project / "agentflow.yaml").write_text("retention_days: '30' # a month\n")
    before = agentflow("validate", "echo", "--static")
    done = agentflow("validate", "echo", "--fix")
    assert before.code == done.code == 2
    assert file.read_bytes() == (text + "settings: {max_iterations: 3, lean_histroy: true} # mine\r\n").encode()
    assert (project / "agentflow.yaml").read_text() == "retention_days: 30 # a month\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert [path.name for path in file.parent.iterdir() if path.name.startswith(".")] == []
    assert "lean_histroy" in done.out
    assert "max_turns" not in done.out
    assert "mended agentflow.yaml:1:17: retention_days" in done.err


def test_fix_does_not_make_a_name_of_what_is_no_model(agentflow: Command, project: Path) -> None:
    """`llm` may have been the name of an interface: what nothing answers to is no mending."""
    file = project / "agents" / "echo" / "agent.yaml"
    file.write_text("name: echo\nllm: fast\n")
    assert agentflow("validate", "echo", "--fix").code == 2
    assert file.read_text() == "name: echo\nllm: fast\n"


def test_a_link_stays_one_when_what_it_leads_to_is_mended(agentflow: Command, project: Path) -> None:
    link, file = project / "agents" / "echo" / "agent.yaml", project / "echo.yaml"
    file.write_text(link.read_text() + "planning: yes\n")
    link.unlink()
    link.symlink_to(file)
    assert agentflow("validate", "echo", "--fix").code == 0
    assert link.is_symlink()
    assert file.read_text().endswith("planning: true\n")
