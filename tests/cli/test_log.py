"""Standard error has the log as loud as the agent's `logging_level`, and of a flow's fault the author's lines (B77)."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from agentflow.secrets.known import learn
from agentflow.secrets.logs import guard_logs
from cli.log import author_lines, shown_log
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


def test_a_failed_turn_is_a_warning_of_the_log_and_told_once(
    agentflow: Command, caplog: pytest.LogCaptureFixture
) -> None:
    """D48: the command says itself why the turn failed."""
    err = agentflow("run", "broken", "Hello").err
    (record,) = [each for each in caplog.records if each.getMessage().endswith("is failed")]
    assert record.levelname == "WARNING"
    assert "warning: " not in err
    assert err.count("error (model_error.auth)") == 1


def test_a_recursion_and_a_circle_of_causes_are_told_in_few_lines() -> None:
    def deeper() -> None:
        deeper()

    with pytest.raises(RecursionError) as raised:
        deeper()
    first, second = raised.value, ValueError("second")
    first.__cause__, second.__cause__ = second, first
    assert len(author_lines(first)) < 20


def test_a_traceback_that_told_a_secret_is_shown_without_it(capsys: pytest.CaptureFixture[str]) -> None:
    """Z4: it is a text by then, and still says what failed."""
    guard_logs()
    learn("correct horse", "${WORDS}")
    with shown_log():
        try:
            raise ValueError("correct horse is wrong")
        except ValueError:
            logging.getLogger("agentflow.agent.mine").exception("it failed")
    said = capsys.readouterr().err
    assert "error: it failed" in said
    assert "ValueError: ${WORDS} is wrong" in said
    assert "correct horse" not in said
