"""What authors from elsewhere write is answered by what to write here, and that fits (D41)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentflow.config.document import yamlfile
from agentflow.config.keys.agent import AgentKeys
from agentflow.config.keys.base import Keys
from agentflow.config.keys.checking import validate
from agentflow.config.keys.project import ProjectKeys
from agentflow.config.keys.spellings import AGENT, PROJECT, Spelling
from agentflow.errors import InvalidConfig

_AGENT = {"name": "bot", "model": "openai/gpt-4o"}
_LISTS = ("tools", "sub_agents", "skills", "references", "strategy", "pre_tool")
_VALUES = {"keys": {"a": {}}, "list": ["a"], "bool": True, "yes": "yes", "no": "no", "llm": "llm://main"}
_AROUND: dict[str, list[dict[str, Any]]] = {
    "interfaces.*": [{"model": "openai/gpt-4o"}],
    "tools.*": [{"flow": "query"}, {"name": "look", "description": "Look.", "handler": "client"}],
    "hooks.*.*": [{"flow": "check"}],
    "context.strategy.*": [{"use": "summarize"}],
    "references.*": [{"name": "prices", "file": "prices.md"}],
}
"""What else stands in the mapping that a row is about."""

ROWS = [pytest.param(AgentKeys, row, id=f"{row[0]}-{row[1]}") for row in AGENT]
ROWS += [pytest.param(ProjectKeys, row, id=f"project-{row[0]}") for row in PROJECT]


def said(root: type[Keys], data: Any) -> str:
    """What is said of a file with this data; nothing if it is valid."""
    document = yamlfile.parse(json.dumps(data), "agent.yaml", variables={"OPENAI_API_KEY": "k"})
    try:
        validate(document, root)
    except InvalidConfig as error:
        return error.message
    return ""


def at(root: type[Keys], where: list[str], value: Any) -> Any:
    """A file whose only content beside what every file has is the value at this place."""
    for step, above in zip(reversed(where), [*reversed(where[:-1]), ""], strict=True):
        name = "pre_tool" if above == "hooks" else "thing"
        value = [value] if step == "*" and above in (*_LISTS, "*") else {name if step == "*" else step: value}
    return {**(_AGENT if root is AgentKeys else {}), **value}


def given(row: Spelling) -> Iterator[Any]:
    """Values that a row is about."""
    _, shape, advice = row
    own = re.search(r"\{value\|([^{}]*)\}", advice)
    if shape == "any":
        yield from ({"a": {}}, ["a"], own[1] if own else "main", 1)
    elif shape == "text":
        yield own[1] if own else "main"
    else:
        yield _VALUES.get(shape, shape.split("|")[0])


def fits(root: type[Keys], where: list[str], snippet: str) -> bool:
    """Whether the YAML is valid at the top of the file, or in the mapping that the place is in."""
    written = yamlfile.parse(snippet, "snippet").checked()
    top = {**(_AGENT if root is AgentKeys else {}), **written}
    if "main" in top.get("interfaces", {}):
        top.pop("model", None)
    if not said(root, top):
        return True
    above = where[:-1]
    return any(
        not said(root, at(root, above, {**around, **written})) for around in _AROUND.get(".".join(above), [{}]) if above
    )


@pytest.mark.parametrize(("root", "row"), ROWS)
def test_each_spelling_is_answered_with_yaml_that_fits(root: type[Keys], row: Spelling) -> None:
    where, _, advice = row
    opening = re.escape(advice.partition("`")[0].partition("{")[0])
    answers = [said(root, at(root, where.split("."), value)) for value in given(row)]
    told = [found for answer in answers if (found := re.search(rf"[:,;] {opening}.*", answer))]
    assert told, answers
    for found in told:
        for snippet in re.findall("`([^`]+)`", found[0]):
            assert fits(root, where.split("."), snippet), snippet


def test_no_spelling_is_a_key_that_exists() -> None:
    """A row with the shape `any` for a key we have would answer every mistake in it alike."""
    mine = [where for where, shape, _ in AGENT if shape == "any" and where in AgentKeys.model_fields]
    assert mine == ["version", "planning"]


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("name_chats: false", "write `settings: {name_chats: false}`"),
        ("sub_agents: [{name: x}]", "`sub_agents: [x]`"),
        ("planning: {enabled: true}", "write `planning: true` alone"),
        ("planning: {enabled: false}", "write `planning: false` alone"),
        ("planning: yes", "write `planning: true`"),
        ("settings: {limits: {max_iterations: 3}}", "`settings: {max_iterations: 20}`"),
        ("planner: summarizer", "write `planning: {planner: llm://summarizer}`"),
        ("planning: {planner: summarizer}", "write `planner: llm://summarizer`"),
        ("maxTurns: 7", "write `settings: {max_iterations: 7}`"),
        ("disallowed-tools: [a]", "only what `tools: [query]` lists is offered"),
        ("instrutions: x", "write `prompt: Help the customer.`"),
    ],
)
def test_what_was_once_answered_with_a_key_that_does_not_fit(line: str, answer: str) -> None:
    """D41"""
    document = yamlfile.parse(f"name: bot\nmodel: openai/gpt-4o\n{line}\n", "agent.yaml")
    with pytest.raises(InvalidConfig) as refused:
        validate(document, AgentKeys)
    assert answer in refused.value.message


@pytest.mark.parametrize(
    ("line", "hidden"),
    [
        ("api_key: sk-12345678", "sk-1"),
        ("interfaces: {a: {token: sk-12345678, model: a/b}}", "sk-1"),
        ("base_url: https://ann:secret@example.com", "secret@"),
        ("base_url: ${KEY}", "from-environment"),
    ],
)
def test_no_answer_shows_a_secret(tmp_path: Path, line: str, hidden: str) -> None:
    """A3"""
    text = f"name: bot\nmodel: openai/gpt-4o\n{line}\n"
    document = yamlfile.parse(text, "agent.yaml", variables={"KEY": "from-environment"})
    with pytest.raises(InvalidConfig) as refused:
        validate(document, AgentKeys)
    assert hidden not in refused.value.message
