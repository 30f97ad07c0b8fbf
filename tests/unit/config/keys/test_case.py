"""R9: a case that is wrong is refused where it is wrong, and one that is right means what it says."""

from __future__ import annotations

import json

import pytest
from jsonschema import Draft7Validator

from agentflow import InvalidConfig, case_schema
from agentflow.config.document.yamlfile import parse
from agentflow.config.keys.case import CaseKeys
from agentflow.config.keys.checking import validate

WHOLE = """
version: 1
agent: test
about: x
history: [hi, {role: assistant, content: hello, tool_calls: [{id: c, name: n, arguments: '{}'}]}]
agent_state: {a: 1}
turns:
- messages: [one, {role: user, content: [{type: text, text: two}]}]
  inputs: {a: 1}
  client: {state: 1}
  client_tools: [{name: pick}]
  limits: {max_iterations: 2}
  answers: [Pro, {choices: {Plan: [Pro]}}]
  data: [{entity: customer, key: 7, value: null, step: 2}]
  tools: [{name: a, result: 1}, {name: a, arguments: {}, error: no}]
  expect:
    answer: {matches: a+}
    tools: [a, {name: b, arguments: {c: 1}}]
    rubric: polite
    limit: max_iterations
    max_tokens: 10
    max_cost: 0.5
"""


def read(text: str) -> CaseKeys:
    return validate(parse(text, "case.yaml"), CaseKeys)


def test_every_key_is_read() -> None:
    (turn,) = read(WHOLE).turns
    assert (turn.data[0].key, turn.messages[0].content, turn.answers[0].text) == ("7", "one", "Pro")
    assert (turn.expect.state, turn.expect.tools[0].arguments) == ("done", None)
    assert list(Draft7Validator(case_schema()).iter_errors(json.loads(json.dumps(parse(WHOLE, "").data)))) == []


@pytest.mark.parametrize(
    ("turn", "said"),
    [
        ("{messages: []}", "turns[0].messages: a turn begins with a message"),
        ("{messages: [{role: tool, content: a}]}", "turns[0].messages[0]: tool_call_id: is required"),
        ("{messages: [a], expect: {anser: b}}", "turns[0].expect.anser: unknown key, did you mean 'answer'?"),
        ("{messages: [a], expect: {answer: {matches: '('}}}", "matches: is not a regular expression"),
        ("{messages: [a], expect: {answer: {matches: '(a{999}){999}'}}}", "matches: is not a regular expression: with"),
        ("{messages: [a], expect: {state: finished}}", "turns[0].expect.state: must be one of"),
        ("{messages: [a], expect: {max_tokens: -1}}", "turns[0].expect.max_tokens: must be at least 0"),
        ("{messages: [a], answers: [{}]}", "turns[0].answers[0]: needs either text or choices"),
        ("{messages: [a], answers: [7]}", "turns[0].answers[0]: must be a text or a mapping"),
        (
            "{messages: [a], tools: [{name: x, result: 1, error: y}]}",
            "error: a call has a result or an error, not both",
        ),
        ("{messages: [a], data: [{entity: c, key: {}, value: 1}]}", "turns[0].data[0].key: must be a text"),
        ("{messages: [a], data: [{entity: c, key: 1}]}", "turns[0].data[0].value: is required"),
    ],
)
def test_a_mistake_is_told_with_its_place(turn: str, said: str) -> None:
    with pytest.raises(InvalidConfig) as refused:
        read(f"agent: test\nturns:\n- {turn}\n")
    assert said in str(refused.value)
    assert "case.yaml:3:" in str(refused.value)


def test_a_case_without_turns_is_none() -> None:
    with pytest.raises(InvalidConfig, match="a case needs a turn at least"):
        read("agent: test\nturns: []\n")
