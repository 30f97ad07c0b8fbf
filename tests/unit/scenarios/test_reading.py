"""A `*.test.yaml` as its author gets it back: typed, or with every mistake at its place (A2)."""

from __future__ import annotations

from pathlib import Path

import pytest
from jsonschema import Draft7Validator

from agentflow import InvalidConfig, ScenarioFile, read_scenario
from agentflow.config.document import yamlfile
from agentflow.models.script import _GUARD, _REPLY, _USAGE
from agentflow.scenarios import schema
from agentflow.scenarios.reply_schema import REPLY_SCHEMA
from tests.guards.source import ROOT

WHOLE = """\
version: 1
agent: guide
description: All there is.
start: 2030-01-01T09:00:00+02:00
x-mine: anything
replies:
  - {text: "{{ last_tool }}", usage: {input: 3, cost: 0.5}, when: {tool: add, turn: 1}, repeat: true}
replies_of: {helper: [{tool_calls: [{name: add, arguments: {a: 1}}]}]}
tools:
  - {name: add, when: {a: 1}, result: 2}
  - {name: add, error: no}
history: [{role: user, content: earlier}]
steps:
  - {send: Hi., id: first, session: s-2, inputs: {a: 1}, limits: {max_iterations: 2}, queue: true, wait: false}
  - {input: {type: client.append, messages: []}, merge: true}
  - {answer: yes, crash_after: 2}
  - {answers: {Plan: [Pro]}}
  - {result: null}
  - {edit: {step: first, text: Hello.}, replies: [{text: a}]}
  - {regenerate: true}
  - {switch: first}
  - {advance: next_timer}
  - {advance: 1.5h}
  - {stop: true}
  - {run_all: true}
  - {restart: true}
  - expect:
      state: done
      answer: {is: a, contains: [a], lacks: [b], matches: "^a"}
      question: Which?
      error: limit_reached
      tools: [add, {name: add, arguments: {a: 1}, result: "2"}]
      events: [done, {type: done, data: {answer: a}}]
      requests: [{}, {agent: guide, system: {contains: [a]}, last: a, tools: [add], messages: [{user: a}]}]
      tokens: {input: 1, output: 2, cache_read: 0, cache_write: 0, total: 3, at_most: 3}
      path: [{user: a}, {assistant: {contains: [b]}}]
      status: idle
      queued: 0
      gone: false
"""


def read(text: str) -> ScenarioFile:
    return read_scenario("tests/x.test.yaml", text=text)


def complaint(text: str) -> str:
    with pytest.raises(InvalidConfig) as refused:
        read(text)
    return str(refused.value)


def test_everything_that_a_file_may_say_is_read() -> None:
    scenario = read(WHOLE).scenario
    assert [step.action() for step in scenario.steps] == [
        "send", "input", "answer", "answers", "result", "edit", "regenerate", "switch", "advance", "advance", "stop",
        "run_all", "restart", None,
    ]  # fmt: skip
    assert scenario.steps[-1].expect is not None
    assert len(scenario.steps[-1].expect.given()) == 12


def test_the_schema_accepts_what_is_read_and_refuses_what_is_not() -> None:
    validator = Draft7Validator(schema.scenario_schema())
    validator.check_schema(schema.scenario_schema())
    assert list(validator.iter_errors(yamlfile.parse(WHOLE, "x").data)) == []
    for wrong in ("sned: x", "advance: soon", "replies: [{txt: a}]", "expect: {answer: {contains: a}}"):
        assert list(validator.iter_errors(yamlfile.parse(f"agent: a\nsteps: [{{{wrong}}}]", "x").data))


@pytest.mark.parametrize(
    ("file", "text"),
    [(schema.SCHEMA_FILE, schema.schema_text()), (schema.REFERENCE_FILE, schema.reference_text())],
)
def test_the_shipped_file_is_the_one_the_classes_make(file: str, text: str) -> None:
    """After a change of the keys: python -m agentflow.scenarios.schema agent_yaml"""
    assert (ROOT / "agent_yaml" / file).read_text("utf-8") == text


def test_the_schema_of_a_reply_has_the_keys_that_are_read() -> None:
    properties = REPLY_SCHEMA["properties"]
    assert set(properties) == set(_REPLY)
    assert set(properties["when"]["properties"]) == set(_GUARD)
    assert set(properties["usage"]["properties"]) == set(_USAGE)


@pytest.mark.parametrize(
    ("text", "where", "said"),
    [
        ("agent: a\nsteps:\n  - sned: Hi.\n", "3:5: steps[0].sned", "unknown key, did you mean 'send'?"),
        ("agent: a\nsteps: []\n", "2:8: steps", "needs one step at least"),
        ("agent: a\nsteps:\n  - {send: a, stop: true}\n", "3:21: steps[0].stop", "a step does one thing"),
        ("agent: a\nsteps:\n  - session: a\n", "3:5: steps[0]", "says nothing to do"),
        ("agent: a\nsteps:\n  - {send: a, id: first}\n  - switch: frist\n", "4:13: steps[1].switch", "'first'?"),
        ("agent: a\nsteps:\n  - {edit: {step: b, text: c}}\n", "3:19: steps[0].edit.step", "give that step an id"),
        ("agent: a\nsteps:\n  - {send: a, id: b}\n  - {send: a, id: b}\n", "4:19: steps[1].id", "another step"),
        ("agent: a\nsteps: [{advance: soon}]\n", "2:19: steps[0].advance", "a text of the form"),
        ("agent: a\nreplies:\n  - txt: a\nsteps: [{send: a}]\n", "3:5: replies[0].txt", "did you mean 'text'?"),
        (
            'agent: a\nsteps:\n  - send: a\n    replies: [{text: "{{ lst_user }}"}]\n',
            "4:15: steps[0].replies[0]",
            "{{ lst_user }} is not known",
        ),
        ("agent: a\nreplies_of: {b: [{text: 1}]}\nsteps: [{send: a}]\n", "2:19: replies_of.b[0].text", "in quotes"),
        ("agent: a\ntools: [{name: b}]\nsteps: [{send: a}]\n", "2:9: tools[0]", "a result or an error"),
        ("agent: a\nsteps: [{send: a, expect: {path: [{user: 1}]}}]\n", ".path[0].user", "a text or a mapping"),
        ('agent: a\nsteps: [{send: a, expect: {answer: {matches: "("}}}]\n', "answer.matches", "regular expression"),
        ("agent: a\nsteps: [{crash_after: 1, expect: {}}]\n", "steps[0].crash_after", "nothing is done here"),
    ],
)
def test_a_mistake_is_shown_at_its_place(text: str, where: str, said: str) -> None:
    complained = complaint(text)
    assert where in complained.splitlines()[0]
    assert said in complained.splitlines()[0]
    assert complained.splitlines()[2].strip() == "^"


def test_every_mistake_is_told_at_once() -> None:
    assert complaint("agnt: a\nreplies: [{txt: a}]\nsteps: [{sned: a}]\n").count("^") == 4


def test_the_project_is_the_nearest_folder_with_agents(tmp_path: Path) -> None:
    (tmp_path / "inner" / "tests").mkdir(parents=True)
    (tmp_path / "agents").mkdir()
    file = tmp_path / "inner" / "tests" / "a.test.yaml"
    file.write_text("agent: a\nsteps: [{send: a}]\n")
    assert read_scenario(file).project == tmp_path
    (tmp_path / "inner" / "agentflow.yaml").write_text("")
    assert read_scenario(file).project == tmp_path / "inner"
