"""Standard error has the log as loud as the agent's `logging_level`, and of a flow's fault the author's lines (B77)."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.log import author_lines
from tests.cli.conftest import Command

FLOW = '''
import json

from agentflow import FlowContext


def parse(ctx: FlowContext) -> str:
    """Parse what is no JSON."""
    ctx.logger.debug("a debug line")
    ctx.logger.info("an info line")
    return inner("{")


def inner(text: str) -> str:
    try:
        return json.loads(text)
    except ValueError as error:
        raise RuntimeError("no use") from error
'''
REPLIES = """replies:
- {when: {tool: parse}, text: "It failed.", repeat: true}
- {tool_calls: [{name: parse, arguments: {}}], repeat: true}
"""


def _run(agentflow: Command, project: Path, level: str) -> str:
    (project / "workflows").mkdir()
    (project / "workflows" / "parsing.py").write_text(FLOW)
    folder = project / "agents" / "parser"
    folder.mkdir()
    keys = f"name: parser\nmodel: scripted/replies.yaml\ntools: [parse]\nsettings: {{logging_level: {level}}}\n"
    (folder / "agent.yaml").write_text(keys)
    (folder / "replies.yaml").write_text(REPLIES)
    done = agentflow("run", "parser", "Hello")
    assert (done.code, done.out) == (0, "It failed.\n")
    return done.err


@pytest.mark.parametrize(
    ("level", "shown", "hidden"),
    [
        ("debug", ("a debug line", "an info line", "failed", "is done"), ()),
        ("info", ("info: an info line", "warning: flow parse"), ("a debug line", "is done")),
        ("warn", ("warning: flow parse",), ("an info line",)),
        ("off", (), ("an info line", "flow parse", "RuntimeError")),
    ],
)
def test_the_log_is_as_loud_as_the_agent_says(
    agentflow: Command, project: Path, level: str, shown: tuple[str, ...], hidden: tuple[str, ...]
) -> None:
    err = _run(agentflow, project, level)
    assert [words for words in shown if words not in err] == []
    assert [words for words in hidden if words in err] == []


def test_a_fault_of_a_flow_is_shown_down_to_the_authors_lines(agentflow: Command, project: Path) -> None:
    err = _run(agentflow, project, "info")
    assert "Traceback" not in err
    assert "json/decoder.py" not in err
    assert "tools/calls.py" not in err
    told = [line.strip() for line in err.splitlines() if line.startswith("  ")]
    assert told == [
        "workflows/parsing.py:16 in inner: return json.loads(text)",
        "json.decoder.JSONDecodeError: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)",
        'workflows/parsing.py:11 in parse: return inner("{")',
        'workflows/parsing.py:18 in inner: raise RuntimeError("no use") from error',
        "RuntimeError: no use",
    ]


def test_a_debug_log_has_the_traceback_in_full(agentflow: Command, project: Path) -> None:
    err = _run(agentflow, project, "debug")
    assert "Traceback" in err
    assert "json/decoder.py" in err


def test_a_failed_turn_is_a_warning(agentflow: Command) -> None:
    assert "warning: turn " in agentflow("run", "broken", "Hello").err


def test_a_recursion_and_a_circle_of_causes_are_told_in_few_lines() -> None:
    def deeper() -> None:
        deeper()

    with pytest.raises(RecursionError) as raised:
        deeper()
    first, second = raised.value, ValueError("second")
    first.__cause__, second.__cause__ = second, first
    assert len(author_lines(first)) < 20
