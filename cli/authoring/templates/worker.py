"""A worker: code of yours that is asked before each step, and decides."""

from __future__ import annotations

from .template import Template

TEMPLATE = Template(
    "an agent with a worker that counts questions and ends the conversation after three",
    {
        "agents/quota/agent.yaml": """\
version: 1
name: quota
description: Answers three questions a session.
model: scripted/replies.yaml # a script, no key needed; a real model: anthropic/claude-sonnet-4-5
prompt: Answer in one sentence.
worker: deciding.py:decide # or https://..., in any language
""",
        "agents/quota/replies.yaml": """\
# What the scripted model says: the first reply whose guard holds. `repeat` keeps it for later turns.
replies:
  - text: "An answer to: {{ last_user }}"
    repeat: true
""",
        "agents/quota/deciding.py": '''\
"""The worker of the agent: it gets what would be done, and gives back what is done."""

MOST = 3


def decide(request: dict) -> dict:
    """Count the user's questions in the agent's state; after the last one answer without the model."""
    answer = request["proposed"]
    if request["trigger"]["type"] != "client.messages":
        return answer
    asked = (request["state"] or {}).get("asked", 0) + 1
    if asked > MOST:
        said = {"role": "assistant", "content": f"You had your {MOST} questions."}
        return {"messages": [*answer["messages"], said], "actions": [{"type": "done"}], "state": {"asked": asked}}
    return {**answer, "state": {"asked": asked}}
''',
        "tests/test_quota.py": '''\
"""Tests of the agent. `pytest` runs them without a network or a key, and time stands still."""

from pathlib import Path

from agentflow.testing import Kit

PROJECT = Path(__file__).parent.parent


def test_the_fourth_question_is_not_put_to_the_model(agentflow: Kit) -> None:
    agentflow.load(PROJECT, "quota")
    agentflow.script([{"text": "One."}, {"text": "Two."}, {"text": "Three."}])
    assert [agentflow.send("Next?").answer for _ in range(3)] == ["One.", "Two.", "Three."]
    assert agentflow.send("And now?").answer == "You had your 3 questions."
    assert [request.purpose for request in agentflow.requests].count("main") == 3
    assert agentflow.session()["state"] == {"asked": 4}
''',
    },
    ['agentflow run quota -s first "Why is the sky blue?"', 'agentflow run quota -s first "And the sea?"'],
)
