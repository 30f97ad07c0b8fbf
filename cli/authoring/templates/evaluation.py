"""Questions with what their answers must say, held against the agent as its files are."""

from __future__ import annotations

from .template import Template

TEMPLATE = Template(
    "cases of an agent: what it must answer and which tools it must call",
    {
        "agents/desk/agent.yaml": """\
version: 1
name: desk
description: Knows when the shop is open.
model: scripted/replies.yaml # a script, no key needed; a real model: anthropic/claude-sonnet-4-5
prompt: |
  You answer questions about the opening hours of a shop. Look them up; never guess.
tools:
  - opening_hours
""",
        "agents/desk/replies.yaml": """\
# What the scripted model says: the first reply whose guard holds. `repeat` keeps it for later turns.
replies:
  - when: {tool: opening_hours}
    text: "We are open {{ last_tool }}."
    repeat: true
  - when: {last_user: '(?i)(?P<day>monday|sunday)'}
    tool_calls: [{name: opening_hours, arguments: {day: "{{ day }}"}}]
    repeat: true
  - text: I only know when the shop is open.
    repeat: true
""",
        "workflows/shop.py": '''\
"""Flows: functions that agents name under `tools`. Parameters and docstring are what the model is told."""


def opening_hours(day: str) -> str:
    """Tell when the shop is open.

    Args:
        day: A day of the week.
    """
    return "not at all" if day.lower() == "sunday" else "from 9 to 18"
''',
        "cases/monday.yaml": """\
# `agentflow eval run` answers the tool from here; `agentflow eval capture SESSION` makes such a file.
agent: desk
turns:
  - messages: ["When are you open on Monday?"]
    tools:
      - {name: opening_hours, arguments: {day: Monday}, result: from 10 to 16}
    expect:
      answer: {matches: 10 to 16}
      tools: [opening_hours]
      max_tokens: 10000
""",
        "tests/cases.json": """\
[
  {"ask": "When are you open on Monday?", "answer": "9 to 18", "tools": ["opening_hours"]},
  {"ask": "And on SUNDAY?", "answer": "not at all", "tools": ["opening_hours"]},
  {"ask": "Who won the cup?", "answer": "only know", "tools": []}
]
""",
        "tests/test_cases.py": '''\
"""Every case of cases.json against the agent as its files are: its prompt, its tools, its model.

With a real model record its replies once, `agentflow run desk "..." --record tests/talk.jsonl`, and give them again
here with `agentflow.replay(PROJECT / "tests" / "talk.jsonl")` after `load`: no network and no cost.
"""

import json
import re
from pathlib import Path

import pytest

from agentflow.testing import Kit

PROJECT = Path(__file__).parent.parent
CASES = json.loads((PROJECT / "tests" / "cases.json").read_text("utf-8"))


@pytest.mark.parametrize("case", CASES, ids=[case["ask"] for case in CASES])
def test_the_agent_answers_as_it_must(agentflow: Kit, case: dict) -> None:
    agentflow.load(PROJECT, "desk")
    result = agentflow.send(case["ask"])
    assert re.search(case["answer"], result.answer)
    assert [event.data["name"] for event in agentflow.events("tool.call.requested")] == case["tools"]
''',
    },
    ['agentflow run desk "When are you open on Monday?"', "agentflow eval run cases/monday.yaml"],
)
