"""`agentflow trace`: a turn as an indented list, and as JSON (R6)."""

from __future__ import annotations

import json
from pathlib import Path

from tests import raw_streams as raw
from tests.cli.conftest import Command
from tests.stub_server import Answer, serve_in_thread


def test_a_paused_turn_is_listed_in_order_with_times(agentflow: Command) -> None:
    agentflow("run", "asking", "-s", "s-1", "Hello")
    agentflow("answer", "s-1", "Pro")
    lines = agentflow("trace", "s-1").out.splitlines()
    assert lines[0].startswith("turn 1 · ")
    assert " · done · " in lines[0]
    assert [line for line in lines if line.startswith("step")] == ["step 1 · paused_ask_user", "step 2 · done"]
    body = [line.strip() for line in lines[2:]]
    kinds = (
        "step 1",
        "model call 1 · scripted/",
        "ask_user(",
        "question Plan: Which one? · answered",
        "step 2",
        "model",
    )
    assert len(body) == len(kinds)
    for line, kind in zip(body, kinds, strict=True):
        assert kind in line
    call, asked = lines[3], lines[4]
    assert call.index("model call") < asked.index("ask_user("), "what a reply asked for stands below it"
    assert call.lstrip().startswith("+0.0")


def test_tools_are_listed_with_arguments_and_results(agentflow: Command) -> None:
    agentflow("run", "restless", "-s", "s-1", "--max-iterations", "1", "Hello")
    out = agentflow("trace", "s-1").out
    assert 'calculate({"expression": "1"}) · completed' in out
    assert "failed at its limit max_iterations" in out
    assert "error (limit_reached)" in out


def test_json_is_one_object_for_the_turn_that_is_named(agentflow: Command) -> None:
    for text in ("One", "Two"):
        agentflow("run", "echo", "-s", "s-1", text)
    assert json.loads(agentflow("trace", "s-1", "--json").out)["turn"] == 2
    first = json.loads(agentflow("trace", "s-1", "--turn", "1", "--json").out)
    assert (first["session_id"], first["turn"], first["state"]) == ("s-1", 1, "done")
    assert [node["kind"] for step in first["steps"] for node in step["nodes"]] == ["model_call"]


def test_a_turn_or_a_session_that_is_not_there_says_so(agentflow: Command) -> None:
    agentflow("run", "echo", "-s", "s-1", "One")
    assert agentflow("trace", "s-1", "--turn", "2").code == 3
    assert agentflow("trace", "nobody").code == 3


def test_how_a_reply_ended_is_said_in_the_providers_own_word(agentflow: Command, project: Path) -> None:
    """T12"""
    with serve_in_thread([Answer(raw=raw.anthropic("Once upon", finish="max_tokens"))]) as stub:
        file = project / "agents" / "echo" / "agent.yaml"
        interface = f"{{model: anthropic/any, api_base: '{stub.anthropic_base}', api_key: k}}"
        file.write_text(f"name: echo\ninterfaces:\n  main: {interface}\n")
        agentflow("run", "echo", "-s", "s-1", "A story!")
    assert "cut at the output limit (max_tokens)" in agentflow("trace", "s-1").out
    (node,) = json.loads(agentflow("trace", "s-1", "--json").out)["steps"][0]["nodes"]
    assert (node["finish_reason"], node["finish_word"]) == ("length", "max_tokens")
