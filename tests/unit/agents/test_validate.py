"""What `validate` finds beyond the schema: everything an agent names is there and makes sense together (A4)."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentflow import validate_agent

SKILL = "---\nname: refunds\ndescription: How to refund.\n---\nRefund within 30 days.\n"


def write(project: Path, name: str, *lines: str) -> None:
    """An agent whose lines after the first three are these."""
    folder = project / "agents" / name
    folder.mkdir(parents=True, exist_ok=True)
    text = "\n".join([f"name: {name}", "model: scripted/replies.yaml", "prompt: Help.", *lines])
    (folder / "agent.yaml").write_text(text + "\n")
    (folder / "replies.yaml").write_text("replies:\n  - text: ok\n")


def flows(project: Path, text: str) -> None:
    (project / "workflows").mkdir(exist_ok=True)
    (project / "workflows" / "mine.py").write_text(text)


def errors(project: Path, name: str = "main") -> list[str]:
    """The complaints, each from `LINE:COLUMN` on, without the source line."""
    found = validate_agent(name, project).errors
    return [entry.splitlines()[0].partition("agent.yaml:")[2] for entry in found]


def test_a_sub_agent_that_is_not_there_is_found(tmp_path: Path) -> None:
    """B67"""
    write(tmp_path, "helper")
    write(tmp_path, "main", "sub_agents: [helper, helpre]")
    (error,) = errors(tmp_path)
    assert error.startswith("4:22: sub_agents[1]: There is no agent 'helpre'")
    assert "did you mean 'helper'?" in error


def test_a_sub_agent_that_is_not_valid_is_found_with_its_own_place(tmp_path: Path) -> None:
    write(tmp_path, "helper", "settings: {lean_histroy: true}")
    write(tmp_path, "main", "sub_agents: [helper]")
    (error,) = errors(tmp_path)
    assert error.startswith("4:14: sub_agents[0]: is not valid: ")
    assert "helper/agent.yaml:4:12: settings.lean_histroy" in error


def test_a_sub_agent_whose_own_files_are_wrong_is_found(tmp_path: Path) -> None:
    write(tmp_path, "helper", "tools: [no_such]")
    write(tmp_path, "main", "sub_agents: [helper]")
    (error,) = errors(tmp_path)
    assert error.startswith("4:14: sub_agents[0]: is not valid: ")
    assert "helper/agent.yaml:4:9: tools[0]: There is no flow 'no_such'" in error


def test_a_sub_agent_may_be_named_by_a_path_and_not_twice(tmp_path: Path) -> None:
    write(tmp_path, "helper")
    write(tmp_path, "main", "sub_agents: [../helper/agent.yaml]")
    assert errors(tmp_path) == []
    write(tmp_path, "main", "sub_agents: [../helper/agent.yaml, helper]")
    assert errors(tmp_path) == ["4:36: sub_agents[1]: the sub-agent 'helper' is named twice"]


def test_sub_agents_that_call_each_other_are_found_with_the_way_round(tmp_path: Path) -> None:
    write(tmp_path, "a", "sub_agents: [b]")
    write(tmp_path, "b", "sub_agents: [c]")
    write(tmp_path, "c", "sub_agents: [a]")
    write(tmp_path, "main", "sub_agents: [a]")
    write(tmp_path, "alone", "sub_agents: [alone]")
    circle = "the sub-agents call each other in a circle:"
    assert errors(tmp_path, "a") == [f"4:14: sub_agents[0]: {circle} a -> b -> c -> a"]
    assert errors(tmp_path) == [f"4:14: sub_agents[0]: {circle} a -> b -> c -> a"]
    assert errors(tmp_path, "alone") == [f"4:14: sub_agents[0]: {circle} alone -> alone"]


def test_two_ways_to_the_same_sub_agent_are_no_circle(tmp_path: Path) -> None:
    write(tmp_path, "c")
    write(tmp_path, "b", "sub_agents: [c]")
    write(tmp_path, "main", "sub_agents: [b, c]")
    assert errors(tmp_path) == []


@pytest.mark.parametrize(("own", "childs", "warned"), [("true", "false", True), ("false", "false", False)])
def test_what_cannot_hold_in_a_sub_agent_is_warned_of(tmp_path: Path, own: str, childs: str, warned: bool) -> None:
    """T35."""
    write(tmp_path, "helper", f"settings: {{observability: {childs}}}")
    write(tmp_path, "main", f"sub_agents: [helper]\nsettings: {{observability: {own}}}")
    warnings = [each for each in validate_agent("main", tmp_path).warnings if "does not hold in a sub-agent" in each]
    assert bool(warnings) is warned


def test_a_worker_that_is_reached_in_the_clear_is_warned_of(tmp_path: Path) -> None:
    """Z7."""
    write(tmp_path, "main", "worker: http://worker.example/decide\nworker_secret: hush")
    (warning,) = validate_agent("main", tmp_path).warnings
    assert "use https://" in warning


def test_a_sub_agent_that_can_never_run_for_want_of_an_input_is_warned_of(tmp_path: Path) -> None:
    write(tmp_path, "helper", "inputs: {customer: {required: true}}")
    write(tmp_path, "main", "sub_agents: [helper]")
    (warning,) = validate_agent("main", tmp_path).warnings
    assert "it requires the input customer" in warning


@pytest.mark.parametrize(
    ("hook", "said"),
    [
        ("no_such", "There is no flow 'no_such'"),
        ("needs", "cannot be a step_start hook: nothing is given for its parameter 'sql'"),
        ("by_place", "nothing is given for its parameter 'message'"),
        ("unreadable", "an annotation cannot be read"),
        ("yields", "a flow returns its result"),
    ],
)
def test_a_hook_that_cannot_be_called_is_found(tmp_path: Path, hook: str, said: str) -> None:
    flows(
        tmp_path,
        "def needs(ctx, sql: str): ...\ndef by_place(message, /): ...\n"
        "def unreadable(message: 'Nowhere'): ...\ndef yields(ctx):\n    yield 1\n",
    )
    write(tmp_path, "main", "hooks:", "  step_start:", f"    - {hook}")
    (error,) = errors(tmp_path)
    assert error.startswith("6:7: hooks.step_start[0]: ")
    assert said in error


@pytest.mark.parametrize(
    "flow",
    [
        "def fine(ctx): ...",
        "def fine(): ...",
        "def fine(message: str, resumed: bool, ctx): ...",
        "def fine(ctx, *more, **others): ...",
        "def fine(ctx, limit: int = 3): ...",
        "from agentflow import FlowContext\nasync def fine(whatever: FlowContext): ...",
    ],
)
def test_every_way_to_write_a_hook_is_valid(tmp_path: Path, flow: str) -> None:
    """A6: the context is annotated, or has no type at all."""
    flows(tmp_path, flow)
    write(tmp_path, "main", "hooks: {step_start: [{flow: fine, on_error: ignore}]}")
    assert errors(tmp_path) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "there is no file"),
        ("Refund.", "has no front matter"),
        ("---\nname: x\n---\n", "needs a description"),
        ("---\n- x\n---\n", "must be a mapping"),
        ("---\nname: x\ndescription: [\n---\n", "refunds.md"),
        ("---\nname: x\n", "has no front matter"),
    ],
)
def test_a_skill_that_cannot_be_read_is_found(tmp_path: Path, text: str | None, said: str) -> None:
    write(tmp_path, "main", "skills:", "  - refunds.md")
    if text is not None:
        (tmp_path / "agents" / "main" / "refunds.md").write_text(text)
    (error,) = validate_agent("main", tmp_path).errors
    assert "agent.yaml:5:5: skills[0]" in error
    assert said in error


def test_all_files_that_are_wrong_are_found_at_once(tmp_path: Path) -> None:
    """A2"""
    write(tmp_path, "main", "skills: [a.md, a.md, b.md]", "references: [{name: prices, file: prices.md}]")
    (tmp_path / "agents" / "main" / "a.md").write_text(SKILL)
    found = errors(tmp_path)
    assert [error.split(": ")[1] for error in found] == ["skills[1]", "skills[2]", "references[0].file"]
    assert "two skills called 'refunds'" in found[0]


@pytest.mark.parametrize("name", ["ask_user", "task", "delegate", "write_todos", "read_skill", "read_reference"])
def test_the_name_of_a_built_in_tool_is_found_under_tools(tmp_path: Path, name: str) -> None:
    for tool in (name, f"{{flow: calculate, name: {name}}}"):
        write(tmp_path, "main", "tools:", f"  - {tool}")
        (error,) = errors(tmp_path)
        assert error.startswith("5:5: tools[0]")
        assert "built-in" in error


def test_a_worker_that_is_not_there_is_found(tmp_path: Path) -> None:
    write(tmp_path, "main", "worker: worker.py:decide")
    (error,) = errors(tmp_path)
    assert error.startswith("4:9: worker: ")


INDESCRIBABLE = """\
from collections.abc import Callable
from typing import Any

from pydantic import EmailStr

cycle: list[Any] = []
cycle.append(cycle)


def calls_back(who: str, back: Callable[[int], int]) -> None: ...
def writes(to: EmailStr) -> None: ...
def several(
    a: bytes = b"\\xff", b: float = float("nan"),
    c: list[Any] = cycle, d=3,
    e: "Nowhere" = None,
) -> None: ...
def fine(x: int) -> None: ...
def three(a: Callable[..., Any], b: float = float("nan"), c=3) -> None: ...
"""


def test_every_signature_that_cannot_be_described_is_found_where_it_is_written(tmp_path: Path) -> None:
    """D62: file, line and column of each parameter, never a traceback."""
    write(tmp_path, "main", "tools: [calls_back, fine, writes, several, three, no_such]")
    flows(tmp_path, INDESCRIBABLE)
    report = validate_agent("main", tmp_path)
    places = [(each["line"], each["column"], each["key"]) for each in report.as_data["errors"]]
    assert sorted(places) == [
        (4, 51, "tools[5]"),
        (10, 26, "tools[0]"),
        (11, 12, "tools[2]"),
        (15, 5, "tools[3]"),  # nothing else of a function can be known whose annotations cannot be read
        (18, 11, "tools[4]"),
        (18, 34, "tools[4]"),
        (18, 59, "tools[4]"),
    ]
    said = "\n".join(report.errors)
    assert "mine.py:10:26: tools[0]: parameter 'back' of flow 'calls_back' cannot be described to a model" in said
    assert "(a tool at " in said
    assert "\n    def calls_back(who: str, back: Callable" in said
    assert "parameter 'e' of flow 'several' has an annotation that cannot be read" in said


def test_what_is_found_is_data_too(tmp_path: Path) -> None:
    write(tmp_path, "main", "tools: [no_such]", "settings: {memory: true}")
    report = validate_agent("main", tmp_path)
    (error,) = report.as_data["errors"]
    assert (error["line"], error["column"], error["key"]) == (4, 9, "tools[0]")
    assert report.errors[0].startswith(f"{error['file']}:4:9: tools[0]: {error['message']}")
    assert [each["key"] for each in report.as_data["warnings"]] == ["settings.memory"]


@pytest.mark.parametrize("named", [True, False])
def test_an_unobserved_agent_is_told_that_its_chats_keep_their_names(tmp_path: Path, named: bool) -> None:
    """R7"""
    write(tmp_path, "main", f"settings: {{observability: false, name_chats: {str(named).lower()}}}")
    (warning,) = validate_agent("main", tmp_path).warnings
    assert ("a chat's name is made from the words before they are erased, and stays" in warning) is named


def test_a_naming_interface_that_is_not_there_is_found(tmp_path: Path) -> None:
    write(tmp_path, "main", "settings: {naming_interface: smal}")
    assert "there is no interface 'smal'" in errors(tmp_path)[0]
