"""Z2, Z3: what a project's files may hold is bounded by its form; nothing here can hold the process."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agentflow.config.agent_config import AgentConfig, load_agent
from agentflow.config.document import yamlfile
from agentflow.config.document.problems import mask_line
from agentflow.config.inputs import parse_assignments
from agentflow.config.keys.agent import InputSpec
from agentflow.config.keys.templates import TemplateFault, render, template_complaints
from agentflow.config.material import read_material
from agentflow.errors import InvalidConfig, InvalidInput

LONG = 300_000


def _agent(folder: Path, keys: str) -> AgentConfig:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "agent.yaml").write_text(f"version: 1\nname: {folder.name}\nmodel: scripted/x.yaml\n{keys}")
    return load_agent(folder / "agent.yaml", variables={})


def _references(folder: Path, file: str) -> list[str]:
    config = _agent(folder, f"references: [{{name: prices, description: Prices., file: {file}}}]")
    return [problem.message for problem in read_material(config)[1]]


@pytest.mark.parametrize(
    "line",
    [
        'prompt: "' + "a" * LONG,
        "a" * LONG + ": [",
        "secret" * (LONG // 6) + '"',
        "secret" + " " * LONG + '"',
        "x: '" + "://a:b" * (LONG // 6),
        "x: '" + "://" * (LONG // 3),
        "x: '" + "${" * (LONG // 2),
        '"' + "\\" * LONG,
        "- " * 40_000,
        "{" * 5_000,
        "a: " * 30_000,
        "? " * 30_000,
        "&a " * 30_000,
        "!" * LONG,
    ],
    ids=range(14),
)
def test_a_broken_file_is_refused_however_long_its_lines_are(line: str) -> None:
    """D78: a missing quote after 30,000 characters took more than 40 seconds."""
    assert _first_line_complained_of(line) in (None, 1)


def _first_line_complained_of(text: str) -> int | None:
    try:
        document = yamlfile.parse(text, "agent.yaml", variables={})
    except InvalidConfig as error:
        return int(error.detail["problems"][0]["line"])
    return document.problems[0].line if document.problems else None


def test_values_are_counted_while_they_are_composed() -> None:
    with pytest.raises(InvalidConfig, match="holds more than 20000 values"):
        yamlfile.parse("[" + "1," * 100_000 + "]", "agent.yaml", variables={})


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("api_key: abc", "api_key: ***"),
        ("x-token : abc", "x-token : ***"),
        ("url: https://me:pa%40ss@host/x", "url: https://***@host/x"),
        ("url: postgresql://me:p@ss@w0rd@host/x", "url: postgresql://***@host/x"),
        ("url: https://host/a@b", "url: https://host/a@b"),
    ],
)
def test_what_may_be_a_secret_is_not_shown(line: str, shown: str) -> None:
    assert mask_line(line) == shown


@pytest.mark.parametrize(
    "expression",
    [
        "9**(9**9)",
        "(9**9)**(9**9)",
        "'x'*10**9",
        "'x'|center(1000000000)",
        "'%1000000000d'|format(1)",
        "range(10**9)|list",
    ],
)
@pytest.mark.parametrize("around", ["{{ %s }}", "{%% if %s %%}x{%% endif %%}", "{%% set x = %s %%}"])
def test_nothing_is_computed_while_a_template_is_compiled(expression: str, around: str) -> None:
    assert template_complaints(around % expression, ()) == []


@pytest.mark.parametrize(
    "text",
    [
        "{{ " + "[" * 1000 + "]" * 1000 + " }}",
        "{{ " + "(" * 3000 + "1",
        "{% if 1 %}" * 2000,
        "{% for a in [] %}" * 30 + "{% endfor %}" * 30,
    ],
)
def test_a_template_that_is_nested_deeply_is_refused(text: str) -> None:
    assert "template error" in template_complaints(text, ())[0][1]


def test_a_deep_json_value_of_an_input_is_refused() -> None:
    with pytest.raises(InvalidInput, match="must be an array"):
        parse_assignments({"tree": InputSpec(type="array")}, ["tree=" + "[" * 1000 + "]" * 1000])


FILES = ("../../inside.md", "../../../outside.md", "link.md", "loop.md", "large.md", "pipe", "/dev/zero", ".")


def _said(folder: Path, file: str) -> str:
    return "".join(message.splitlines()[0] for message in _references(folder, file))


def test_a_reference_is_a_regular_file_of_the_project(tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / "agents" / "a").mkdir(parents=True)
    (tmp_path / "outside.md").write_text("no")
    (project / "inside.md").write_text("yes")
    (project / "agents" / "a" / "link.md").symlink_to(tmp_path / "outside.md")
    (project / "agents" / "a" / "loop.md").symlink_to("loop.md")
    (project / "agents" / "a" / "large.md").write_bytes(b"x" * 1_000_001)
    os.mkfifo(project / "agents" / "a" / "pipe")
    said = {file: _said(project / "agents" / "a", file) for file in FILES}
    assert said["../../inside.md"] == ""
    for file in ("../../../outside.md", "link.md", "/dev/zero"):
        assert "lies outside of the project" in said[file]
    assert "cannot be read" in said["loop.md"]
    assert "has more than 1000000 bytes" in said["large.md"]
    for file in ("pipe", "."):
        assert "is not a regular file" in said[file]


@pytest.mark.parametrize(
    "made", ["9 ** (9 ** 9)", "'a' * 10 ** 9", "[1] * 10 ** 9", "'%0999999999d' % 1", "'%*d' % (10 ** 9, 1)"]
)
def test_an_operation_of_a_template_makes_no_more_than_a_prompt_may_hold(made: str) -> None:
    with pytest.raises(TemplateFault, match="more here than a prompt may hold"):
        render("{{ " + made + " }}", {})


def test_what_prompts_compute_is_computed() -> None:
    assert (
        render("{{ 2 ** 10 }} {{ '-' * 3 }} {{ '%05.1f' % 2 }} {{ 7 % 4 }} {{ 2.5 * 2 }}", {}) == "1024 --- 002.0 3 5.0"
    )
