"""Mistakes authors typically make, and the words of the message that help (A2, A4; D41-D48, D43, D46)."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentflow import validate_agent
from agentflow.models.providers import model_table

MISTAKES = [
    ("modle: openai/gpt-4o", "unknown key, did you mean 'model'?"),
    ("instructions: Help.", "write `prompt: "),
    ("temperature: 0.5", "`interfaces: {main: {model: openai/gpt-4o, temperature: 0.5}}`"),
    ("tools: query", "must be a list, not the text 'query'; write [query]"),
    ("tools: Read, Grep", "write [Read, Grep]"),
    ("tools:", "leave the key out, or write []"),
    ("tools: [look_up]", "There is no flow 'look_up'"),
    ("tools: [task]", "is the name of a built-in tool; choose another"),
    ("tools: [{flow: query, handler: worker}]", "tools[0].handler: needs worker"),
    ("tools: [{flow: query, timeout: 5}]", "write `timeout_secs: 5`"),
    ("sub_agents: [{name: helper}]", "`sub_agents: [helper]`"),
    ("sub_agents: [helper]", "There is no agent 'helper'"),
    ("planning: yes", "write `planning: true`"),
    ("planning: {planner: summarizer}", "write `planner: llm://summarizer`"),
    ("settings: {limits: {max_iterations: 3}}", "`settings: {max_iterations: 20}`"),
    ("settings: {lean_history: 'false'}", "remove the quotes"),
    ("settings: {logging_level: warning}", "write `logging_level: warn`"),
    ("hooks: {PreToolUse: [check]}", "write `pre_tool: [check]`"),
    ("hooks: [check]", "`hooks: {step_start: [load_customer]}`"),
    ("interfaces: {a: {model: x, max_tokens: 5}}", "write `max_output_tokens: 5`"),
    ("interfaces: {a: {model: antropic/x}}", "did you mean 'anthropic'?"),
    ("interfaces: {a: {model: 'anthropic:x'}}", "write anthropic/x"),
    ("interfaces: {a: {model: sonnet}}", "write PROVIDER/MODEL"),
    ("interfaces: {a: {model: openai/x, extra: {base_url: u}}}", "write it beside extra: api_base"),
    ("interfaces: {a: {model: openai/x, extra: {metadata: {}}}}", "never sent to the provider"),
    ("inputs: {age: {type: int}}", "write `type: integer`"),
    ("inputs: [age]", "`inputs: {customer: {type: string}}`"),
    ("prompt: Hello {{ customer }}.", "template variable 'customer' does not exist"),
    ("prompt: {{ inputs.a }}", "put a template {{ }} in quotes"),
    ("inputs: {a: {description: What is it?}}", "put a text with one of , ? : { } [ ] in quotes"),
    ("description: a: b", "put a text that contains ': ' in quotes"),
    ("skills: [no.md]", "there is no file"),
    ("worker: worker.py:decide", "there is no file"),
    ("constraints: [${NOWHERE}]", "put ${VAR} in quotes"),
    ("description: ${NOWHERE}", "the environment variable NOWHERE is not set"),
]  # fmt: skip

DOUBTS = [
    ("settings: {compaction_threshold_fraction: 0.8}", "without compaction_context_window_tokens"),
    (
        "settings: {compaction_threshold_fraction: 0.8, compaction_context_window_tokens: 0}",
        "without compaction_context_window_tokens",
    ),
    ("settings: {compaction_context_window_tokens: 90000}", "without compaction_threshold_fraction"),
    ("interfaces: {a: {model: openai/x}}", "set OPENAI_API_KEY, or give the interface an api_key"),
    ("settings: {memory: true}", "is reserved and has no effect"),
    ("interfaces: {a: {model: openai/x, api_key: k, timeout_secs: 900}}", "never binds: settings.turn_timeout_secs"),
]


def agent(project: Path, text: str) -> Path:
    folder = project / "agents" / "main"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "replies.yaml").write_text("replies: [{text: ok}]\n")
    (folder / "agent.yaml").write_text(text)
    return folder


@pytest.mark.parametrize(("line", "words"), MISTAKES)
def test_the_message_of_a_mistake_helps(tmp_path: Path, line: str, words: str) -> None:
    agent(tmp_path, f"name: main\nmodel: scripted/replies.yaml\n{line}\n")
    found = validate_agent("main", tmp_path, variables={}).errors
    assert any(words in each for each in found), found
    assert ":3:" in found[0]


@pytest.mark.parametrize(("line", "words"), DOUBTS)
def test_what_is_hardly_meant_is_a_warning(tmp_path: Path, line: str, words: str) -> None:
    """D44: the turn runs all the same."""
    agent(tmp_path, f"name: main\nmodel: scripted/replies.yaml\n{line}\n")
    found = validate_agent("main", tmp_path, variables={})
    assert found.errors == ()
    assert [words in each for each in found.warnings] == [True]


def test_all_that_is_wrong_is_told_at_once_in_the_order_of_the_file(tmp_path: Path) -> None:
    """D42: a mistake of the schema and five names that lead nowhere."""
    agent(
        tmp_path,
        "name: main\nmodel: scripted/replies.yaml\ntools: [a, 5]\nsettings: {lean_histroy: true, memory: true}\n"
        "hooks: {step_start: [b]}\nskills: [c.md]\nsub_agents: [d]\nworker: e.py:decide\n",
    )
    found = validate_agent("main", tmp_path)
    keys = [each.split(": ")[1] for each in found.errors]
    assert keys == [
        "tools[0]", "tools[1]", "settings.lean_histroy", "hooks.step_start[0]", "skills[0]", "sub_agents[0]", "worker",
    ]  # fmt: skip
    assert [each.split(": ")[1] for each in found.warnings] == ["settings.memory"]


@pytest.mark.parametrize(
    ("model", "known"),
    [("openai/gpt-4o", True), ("gpt-4o", True), ("scripted/replies.yaml", True), ("openai/of-our-own", False)],
)
def test_a_limit_of_the_cost_with_a_price_nobody_knows_is_told(tmp_path: Path, model: str, known: bool) -> None:
    """D48"""
    assert model_table()
    agent(tmp_path, f"name: main\nmodel: {model}\nsettings: {{max_cost: 1}}\n")
    found = validate_agent("main", tmp_path, variables={"OPENAI_API_KEY": "k"})
    assert ["max_cost: never binds" in each for each in found.warnings] == ([] if known else [True])
