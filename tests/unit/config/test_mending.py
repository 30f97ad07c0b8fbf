"""What is certain about a mistake is mended, and nothing else of the file changes (A2)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentflow.config.document import yamlfile
from agentflow.config.document.codes import Code
from agentflow.config.document.problems import Edit, Problem
from agentflow.config.keys.agent import AgentKeys
from agentflow.config.keys.checking import checked
from agentflow.config.mending import edited, mended
from agentflow.errors import InvalidConfig

START = "name: bot\nmodel: openai/gpt-4o\n"

CERTAIN = [
    ("settings: {maxIterations: 3}", "settings: {max_iterations: 3}"),
    ("settings: {max-iterations: 3}", "settings: {max_iterations: 3}"),
    ("Settings:\n  lean_history: true", "settings:\n  lean_history: true"),
    ("settings: {max_turns: 3}   # three", "settings: {max_iterations: 3}   # three"),
    ("system_prompt: |\n  Help.\n\n  # no comment", "prompt: |\n  Help.\n\n  # no comment"),
    ("interfaces: {a: {model: openai/x, max_tokens: '5'}}", "interfaces: {a: {model: openai/x, max_output_tokens: 5}}"),
    ("settings: {max_cost: \"0.5\", lean_history: 'false'}", "settings: {max_cost: 0.5, lean_history: false}"),
    ("settings: {lean_history: No}", "settings: {lean_history: false}"),
    ("settings: {on_limit: Stop}", "settings: {on_limit: stop}"),
    ("settings: {logging_level: warning}", "settings: {logging_level: warn}"),
    ("description: 2024 # a year", 'description: "2024" # a year'),
    ("constraints: [1.50, no]", 'constraints: ["1.50", no]'),
    ("tools: query", "tools: [query]"),
    ("inputs: {age: {type: int}}", "inputs: {age: {type: integer}}"),
    ("planning: yes", "planning: true"),
]
DOUBTFUL = [
    "settings: {lean_histroy: true}",  # close is not certain
    "settings: {timeout: 60}",  # seconds, or milliseconds?
    "settings: {logging_level: error}",  # there is nothing that means it
    "settings: {max_iterations: '3.5'}",
    "settings: {max_turns: 3, max_iterations: 4}",  # which of them?
    "settings: {'max_turns': 3}",
    "settings: {max_iterations: ${N:-x}}",
    "interfaces: {a: {model: openai/x, api_key: 5}}",  # not shown, not touched
    "description: ~",
    "constraints: Be kind, never guess.",
    "llm: [openai/gpt-4o]",
    "worker: {url: x}",
]


def look(text: str) -> list[Problem]:
    try:
        return checked(yamlfile.parse(text, "agent.yaml", variables={}), AgentKeys)[1]
    except InvalidConfig as error:
        return [Problem("agent.yaml", 1, 1, "", Code.YAML_SYNTAX, error.message)]


@pytest.mark.parametrize(("wrong", "right"), CERTAIN)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_what_is_certain_is_mended_and_valid_afterwards(wrong: str, right: str, end: str) -> None:
    around = f"# first{end}{START}".replace("\n", end) if end == "\n" else START.replace("\n", end)
    text, gone = mended(f"{around}{wrong.replace(chr(10), end)}{end}# last", look)
    assert text == f"{around}{right.replace(chr(10), end)}{end}# last"
    assert gone
    assert look(text) == []


@pytest.mark.parametrize("line", DOUBTFUL)
def test_what_is_not_certain_stays_as_it_is(line: str) -> None:
    assert look(START + line) != []
    assert mended(START + line, look) == (START + line, [])


def test_an_alias_is_not_mended_at_its_anchor() -> None:
    text = START + "x-n: &n '5'\nsettings: {max_iterations: *n}\n"
    assert mended(text, look) == (text, [])


def test_an_edit_that_uncovers_another_mistake_is_not_made() -> None:
    """Renaming is right, and what it would uncover is for the author to see under the name they wrote."""
    text = START + "settings: {maxIterations: many}\n"
    assert mended(text, look) == (text, [])


@given(st.lists(st.sampled_from([each for pair in CERTAIN for each in pair] + DOUBTFUL), max_size=4, unique=True))
def test_mending_leaves_fewer_mistakes_of_no_new_kind_and_is_done_at_once(lines: list[str]) -> None:
    """Whatever stands together, duplicate keys included."""
    text = START + "\n".join(lines)
    before = look(text)
    after_text, gone = mended(text, look)
    after = look(after_text)
    assert len(after) <= len(before) - bool(gone)
    assert {(each.key, each.code) for each in after} <= {(each.key, each.code) for each in before}
    assert mended(after_text, look) == (after_text, [])


def test_an_edit_of_another_place_is_none() -> None:
    assert edited("a: 1\u2028b: 2", Edit(1, 3, "2", "3")) == "a: 1\u2028b: 3"
    assert edited("a: 1", Edit(0, 3, "2", "3")) is None
    assert edited("a: 1", Edit(7, 0, "2", "3")) is None
