"""Conversations that are long or lie long: a summary before the window is full, a fresh start after an hour."""

from __future__ import annotations

from .template import Template

TEMPLATE = Template(
    "an agent whose long conversations are summarized, and which starts afresh after an idle hour",
    {
        "agents/companion/agent.yaml": """\
version: 1
name: companion
description: Talks for as long as you like.
model: scripted/replies.yaml # a script, no key needed; a real model: anthropic/claude-sonnet-4-5
prompt: |
  You are good company. What was said before a summary is only known by it.
context: # tried in this order before each call; nothing is lost, earlier messages stay in the session
  window: 200000
  strategy:
    - {use: reset, idle_secs: 3600}
    - {use: summarize, over_tokens: 2000}
""",
        "agents/companion/replies.yaml": """\
# What the scripted model says: the first reply whose guard holds. `repeat` keeps it for later turns.
replies:
  - when: {purpose: summary}
    text: The two of them talked.
    repeat: true
  - text: "You said: {{ last_user }}"
    repeat: true
""",
        "tests/test_companion.py": '''\
"""Tests of the agent. `pytest` runs them without a network or a key, and time moves only by `advance`."""

from pathlib import Path

from agentflow.testing import Kit

PROJECT = Path(__file__).parent.parent


def said(agentflow: Kit) -> list[str]:
    """What the model was sent last, without the system prompt."""
    return [message["content"] for message in agentflow.requests[-1].messages[1:]]


def test_after_an_idle_hour_the_model_starts_afresh(agentflow: Kit) -> None:
    agentflow.load(PROJECT, "companion")
    agentflow.script([{"text": "Hello."}, {"text": "It is sunny."}, {"text": "Hello again."}])
    agentflow.send("Hi.")
    agentflow.advance(3599)
    agentflow.send("How is the weather?")
    assert said(agentflow) == ["Hi.", "Hello.", "How is the weather?"]
    agentflow.advance(3600)
    agentflow.send("Still there?")
    assert said(agentflow) == ["Still there?"]
    assert [each["content"] for each in agentflow.path()] == ["Still there?", "Hello again."]


def test_a_long_conversation_goes_on_from_its_summary(agentflow: Kit) -> None:
    agentflow.load(PROJECT, "companion")
    agentflow.script([
        {"text": "A long story. " * 800},
        {"text": "Ann told of her journey.", "when": {"purpose": "summary"}},
        {"text": "Of your journey."},
    ])
    agentflow.send("Tell me a story.")
    assert agentflow.send("What did we talk about?").answer == "Of your journey."
    assert "Ann told of her journey." in said(agentflow)[0]
''',
        "tests/companion.test.yaml": """\
agent: companion
description: After an idle hour only the new message is sent.
replies:
  - text: Hello.
  - text: Hello again.
steps:
  - send: Hi.
  - advance: 1h
  - send: Still there?
    expect: {answer: Hello again., path: [{user: "Still there?"}, {assistant: Hello again.}]}
""",
    },
    ['agentflow run companion -s first "Hello."', "agentflow explain companion -s first"],
)
