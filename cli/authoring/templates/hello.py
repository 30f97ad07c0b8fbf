"""One agent, its script, one flow and a test."""

from __future__ import annotations

from .template import Template

AGENT = "guide"

FILES = {
    f"agents/{AGENT}/agent.yaml": """\
version: 1
name: guide
description: Says how long a text is.
model: scripted/replies.yaml # a script, no key needed; a real model: anthropic/claude-sonnet-4-5
prompt: |
  You help with texts. Use word_count to say how long one is.
tools:
  - word_count
""",
    f"agents/{AGENT}/replies.yaml": """\
# What the scripted model says: the first reply whose guard holds. `repeat` keeps it for later turns.
replies:
  - when: {tool: word_count}
    text: "That text has {{ last_tool }} words."
    repeat: true
  - text: Let me count.
    tool_calls: [{name: word_count, arguments: {text: "{{ last_user }}"}}]
    repeat: true
""",
    "workflows/texts.py": '''\
"""Flows: functions that agents name under `tools`. Parameters and docstring are what the model is told."""


def word_count(text: str) -> int:
    """Count the words of a text.

    Args:
        text: The text, as the user gave it.
    """
    return len(text.split())
''',
    f"tests/test_{AGENT}.py": '''\
"""Tests of the agents. `pytest` runs them without a network or a key, and time stands still."""

from pathlib import Path

from agentflow.testing import Kit

PROJECT = Path(__file__).parent.parent


def test_the_guide_counts_the_words(agentflow: Kit) -> None:
    agentflow.load(PROJECT, "guide")
    agentflow.script([
        {"tool_calls": [{"name": "word_count", "arguments": {"text": "one two three"}}]},
        {"text": "It has {{ last_tool }} words."},
    ])  # the replies of the model, in place of a real one
    assert agentflow.send("How long is: one two three?").answer == "It has 3 words."
''',
}

TEMPLATE = Template("one agent with one tool", FILES, [f'agentflow run {AGENT} "How long is this text?"'])
