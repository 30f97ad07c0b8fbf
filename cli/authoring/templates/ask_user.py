"""A question that pauses the turn until it is answered, in another process if need be, or not at all."""

from __future__ import annotations

from .template import Template

TEMPLATE = Template(
    "an agent that asks before it acts, and waits a day for the answer",
    {
        "agents/booker/agent.yaml": """\
version: 1
name: booker
description: Books tables.
model: scripted/replies.yaml # a script, no key needed; a real model: anthropic/claude-sonnet-4-5
prompt: |
  You book tables in a restaurant. Ask which day when the guest did not say; never book without one.
tools:
  - book_table
settings:
  ask_user_expiry_secs: 86400 # a question nobody answers within a day is not waited for any more
""",
        "agents/booker/replies.yaml": """\
# What the scripted model says: the first reply whose guard holds. `repeat` keeps it for later turns.
replies:
  - when: {tool: book_table}
    text: "Done: {{ last_tool }}."
    repeat: true
  - when: {tool: ask_user}
    tool_calls: [{name: book_table, arguments: {day: "{{ last_tool }}"}}]
    repeat: true
  - text: One question first.
    tool_calls:
      - name: ask_user
        arguments:
          questions:
            - header: Day
              question: For which day shall I book?
              options: [{label: Friday}, {label: Saturday}]
    repeat: true
""",
        "workflows/tables.py": '''\
"""Flows: functions that agents name under `tools`. Parameters and docstring are what the model is told."""


def book_table(day: str) -> str:
    """Book a table.

    Args:
        day: The day, as the guest said it.
    """
    return f"a table for {day}"
''',
        "tests/test_booker.py": '''\
"""Tests of the agent. `pytest` runs them without a network or a key, and time moves only by `advance`."""

from pathlib import Path

import pytest

from agentflow import QuestionExpired
from agentflow.testing import Kit

PROJECT = Path(__file__).parent.parent
QUESTION = {"header": "Day", "question": "For which day shall I book?"}
ASKS = {"tool_calls": [{"name": "ask_user", "arguments": {"questions": [QUESTION]}}]}
BOOKS = {"tool_calls": [{"name": "book_table", "arguments": {"day": "Friday"}}]}


def test_the_answer_may_come_after_a_restart(agentflow: Kit) -> None:
    agentflow.load(PROJECT, "booker")
    agentflow.script([ASKS, BOOKS, {"text": "See you on Friday."}])
    assert agentflow.send("A table, please.").state == "paused_ask_user"
    agentflow.restart()
    assert agentflow.answer("Friday").answer == "See you on Friday."


def test_nobody_waits_longer_than_a_day(agentflow: Kit) -> None:
    agentflow.load(PROJECT, "booker")
    agentflow.script([ASKS])
    agentflow.send("A table, please.")
    agentflow.advance(24 * 3600)
    with pytest.raises(QuestionExpired):
        agentflow.answer("Friday")
''',
        "tests/booker.test.yaml": """\
agent: booker
description: The question is answered after a restart, hours later.
replies:
  - tool_calls: [{name: ask_user, arguments: {questions: [{header: Day, question: "For which day?"}]}}]
  - tool_calls: [{name: book_table, arguments: {day: Friday}}]
  - text: "Done: {{ last_tool }}."
steps:
  - send: A table, please.
    expect: {state: paused_ask_user, question: {contains: [For which day]}}
  - advance: 23h
  - restart: true
  - answer: Friday
    expect: {answer: "Done: a table for Friday."}
""",
    },
    [
        'agentflow run booker -s first "A table, please." # exits with 4: it waits',
        "agentflow answer first --choice Day=Friday",
    ],
)
