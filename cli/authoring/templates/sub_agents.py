"""One agent that gives work to others, side by side, and answers with what they report."""

from __future__ import annotations

from .template import Template

TEMPLATE = Template(
    "an editor that gives tasks to a researcher and a critic",
    {
        "agents/editor/agent.yaml": """\
version: 1
name: editor
description: Answers with what its colleagues found.
model: scripted/replies.yaml # a script, no key needed; a real model: anthropic/claude-sonnet-4-5
prompt: |
  You are an editor. Give each question to the researcher and the critic in one reply, then answer in one line.
sub_agents: [researcher, critic]
settings:
  max_subagent_depth: 1
""",
        "agents/editor/replies.yaml": """\
# What the scripted model says: the first reply whose guard holds. `repeat` keeps it for later turns.
replies:
  - when: {tool: task}
    text: "My colleagues are done. The last one says: {{ last_tool }}"
    repeat: true
  - text: I ask my colleagues.
    tool_calls:
      - {name: task, arguments: {agent: researcher, prompt: "{{ last_user }}"}}
      - {name: task, arguments: {agent: critic, prompt: "{{ last_user }}"}}
    repeat: true
""",
        "agents/researcher/agent.yaml": """\
version: 1
name: researcher
description: Finds out what is known.
model: scripted/replies.yaml
prompt: Answer in one sentence, with the source.
""",
        "agents/researcher/replies.yaml": 'replies: [{text: "Much is known of it.", repeat: true}]\n',
        "agents/critic/agent.yaml": """\
version: 1
name: critic
description: Says what speaks against it.
model: scripted/replies.yaml
prompt: Name the strongest objection in one sentence.
""",
        "agents/critic/replies.yaml": 'replies: [{text: "Not all of it is certain.", repeat: true}]\n',
        "tests/test_editor.py": '''\
"""Tests of the agents. `pytest` runs them without a network or a key, and time stands still."""

from pathlib import Path

from agentflow.testing import Kit

PROJECT = Path(__file__).parent.parent


def test_both_colleagues_are_asked_with_the_whole_question(agentflow: Kit) -> None:
    agentflow.load(PROJECT, "editor")
    agentflow.script([
        {
            "tool_calls": [
                {"name": "task", "arguments": {"agent": "researcher", "prompt": "Is tea healthy?"}},
                {"name": "task", "arguments": {"agent": "critic", "prompt": "Is tea healthy?"}},
            ]
        },
        {"text": "Yes, with doubts."},
    ])
    agentflow.script([{"text": "Studies say so."}], agent="researcher")
    agentflow.script([{"text": "They are small."}], agent="critic")
    assert agentflow.send("Is tea healthy?").answer == "Yes, with doubts."
    reports = [message["content"] for message in agentflow.requests_of("editor")[-1].messages[-2:]]
    assert ["Studies say so." in reports[0], "They are small." in reports[1]] == [True, True]
''',
    },
    ['agentflow run editor -s first "Is tea healthy?"', "agentflow trace first"],
)
