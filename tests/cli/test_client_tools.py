"""Tools of the client on the command line: exit code 4, the command that goes on, `answer --tool` (C38, C39)."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from tests.cli.conftest import Command

AGENT = """name: showing
model: scripted/replies.yaml
tools:
- {name: show, handler: client, description: Show a chart., parameters: {type: object, properties: {n: {}}}}
- {name: pick, handler: client, description: Pick a file.}
"""
REPLIES = """replies:
- {when: {has_tool_result: true}, text: "It is {{ last_tool }}.", repeat: true}
- {tool_calls: [{name: show, arguments: {n: 1}}, {name: pick}], repeat: true}
"""


@pytest.fixture(autouse=True)
def showing(project: Path) -> None:
    folder = project / "agents" / "showing"
    folder.mkdir()
    (folder / "agent.yaml").write_text(AGENT)
    (folder / "replies.yaml").write_text(REPLIES)


def commands(err: str) -> list[list[str]]:
    return [shlex.split(each)[:-1] for each in re.findall(r"go on with: agentflow (.*)", err)]


def test_the_commands_that_are_printed_go_on(agentflow: Command) -> None:
    asked = agentflow("run", "showing", "-s", "a b", "--db", "my data.db", "Hello")
    show, pick = commands(asked.err)
    assert (asked.code, asked.out) == (4, "")
    assert 'show {"n": 1}\npick {}' in asked.err
    partial = agentflow(*pick, '"a.txt"', "--json")
    assert (partial.code, json.loads(partial.out)["pending_kind"]) == (4, "tools")
    assert commands(partial.err) == [show]
    done = agentflow(*show, '{"shown": true}', "--jsonl")
    *events, result = map(json.loads, done.out.splitlines())
    assert (done.code, result["answer"]) == (0, "It is a.txt.")
    assert [event["type"] for event in events][:3] == ["message.new", "tool.call.completed", "step.started"]
    assert agentflow(*show, '{"shown": true}').code == 0
    assert (agentflow(*show, '"other"').code, agentflow(*show[:-1], "nothing", "1").code) == (5, 3)


@pytest.mark.parametrize(
    ("given", "said"),
    [(["{"], "the result is not JSON"), ([], "there is no result"), (["--choice", "A=b", "1"], "give one of them")],
)
def test_a_result_that_is_none_changes_nothing(agentflow: Command, given: list[str], said: str) -> None:
    (show, _) = commands(agentflow("run", "showing", "-s", "s-1", "Hello").err)
    refused = agentflow(*show, *given)
    assert (refused.code, refused.out) == (2, "")
    assert said in refused.err


def test_a_stop_and_the_trace_show_what_was_waited_for(agentflow: Command) -> None:
    (show, _) = commands(agentflow("run", "showing", "-s", "s-1", "Hello").err)
    assert "waits for its client: show, pick" in agentflow("trace", "s-1").out
    agentflow("stop", "s-1")
    late = agentflow(*show, "1")
    assert late.code == 1
    assert "is ignored" in late.err
