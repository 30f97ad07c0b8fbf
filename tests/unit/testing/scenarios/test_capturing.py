"""A test made of a session passes, whatever the session was; R9's sibling for tests without Python."""

from __future__ import annotations

from typing import Any

import pytest

from agentflow import InvalidInput, TurnNotFound, captured_scenario, read_scenario
from agentflow.testing import Kit, capture_scenario, run_scenario
from tests.pictures import png
from tests.scenarios.support import call

ASK = {"tool_calls": [call("ask_user", questions=[{"header": "Plan", "question": "Which one?"}])]}
ADD = {"tool_calls": [call("add", a=1, b=2)], "usage": {"input": 12, "output": 3}}


def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def captured(kit: Kit, session: str = "s-1", turn: int | None = None) -> tuple[str, list[str]]:
    return kit.run(capture_scenario(kit.runtime, session, turn))


def passes(kit: Kit, turn: int | None = None) -> str:
    """The test that was made, which was run from the kit's own agents, with flows that are not there any more."""
    text, lacks = captured(kit, turn=turn)
    assert lacks == []
    flows = kit.project / "workflows"
    flows.mkdir(exist_ok=True)
    (flows / "sums.py").write_text(
        'def add(a: int, b: int) -> int:\n    """Add."""\n    raise RuntimeError("a stub answers")\n'
    )
    outcome = run_scenario(read_scenario(kit.project / "x.test.yaml", text=text))
    assert "\n".join(outcome.failures) == ""
    return text


def test_files_of_messages_are_taken_over(agentflow: Kit) -> None:
    """W4"""
    agentflow.agent(replies=[{"text": "a cat"}, {"text": "ok"}])
    agentflow.send({"role": "user", "content": [{"type": "image", "data": png()}]})
    agentflow.send("and?")
    passes(agentflow)
    passes(agentflow, turn=2)


def test_words_tools_questions_and_time_are_taken_over(agentflow: Kit) -> None:
    agentflow.agent(tools=[add], replies=[ADD, {"text": "It is 3."}, ASK, {"text": "Pro then."}])
    agentflow.send("1 + 2?")
    agentflow.advance(3600)
    agentflow.send("A plan.")
    agentflow.advance(90)
    agentflow.answer("Pro")
    assert passes(agentflow) == """\
agent: test
description: Captured from session s-1.
start: 2030-01-01T09:00:00+00:00
tools:
- name: add
  when:
    a: 1
    b: 2
  result: '3'
steps:
- send: 1 + 2?
  replies:
  - tool_calls:
    - name: add
      arguments:
        a: 1
        b: 2
    usage:
      input: 12
      output: 3
  - text: It is 3.
    usage:
      input: 427
      output: 2
  expect:
    state: done
    answer: It is 3.
    tools:
    - name: add
      arguments:
        a: 1
        b: 2
- advance: 1h
- send: A plan.
""" + passes(agentflow).partition("- send: A plan.\n")[2]  # fmt: skip


def test_one_turn_has_what_was_said_before_as_its_history(agentflow: Kit) -> None:
    agentflow.agent(tools=[add], replies=[ADD, {"text": "It is 3."}, {"text": "You are welcome."}])
    agentflow.send("1 + 2?")
    agentflow.send("Thank you.")
    text = passes(agentflow, turn=2)
    assert "role: tool" in text.partition("steps:")[0]
    assert "1 + 2?" not in text.partition("steps:")[2]
    with pytest.raises(TurnNotFound):
        captured(agentflow, turn=3)


def test_branches_are_edits_switches_and_replies_made_again(agentflow: Kit) -> None:
    agentflow.agent(replies=[{"text": f"a{number}"} for number in range(1, 6)])
    agentflow.send("u1")
    first = agentflow.path()[0]["id"]
    agentflow.send("u2")
    agentflow.regenerate()
    agentflow.edit(first, "u1 instead")
    agentflow.checkout(agentflow.tree()["nodes"][3]["message"]["id"])
    agentflow.send("u3")
    text = passes(agentflow)
    assert [line.split(":")[0].strip("- ") for line in text.splitlines() if line.startswith("- ")] == [
        "send", "send", "regenerate", "edit", "switch", "send",
    ]  # fmt: skip


def test_sub_agents_clients_and_failures_are_taken_over(agentflow: Kit) -> None:
    weigh: dict[str, Any] = {
        "handler": "client", "name": "weigh", "description": "Weigh.", "parameters": {"type": "object"},
    }  # fmt: skip
    agentflow.agent("sub", tools=[add], replies=[ADD, {"text": "three"}])
    agentflow.agent(
        "main", sub_agents=["sub"], tools=[weigh],
        replies=[
            {"tool_calls": [call("task", agent="sub", prompt="Add.")]}, {"text": "It is three."},
            {"tool_calls": [call("weigh")]}, {"text": "{{ last_tool }} kg"}, {"error": {"kind": "auth"}},
        ],
    )  # fmt: skip
    agentflow.send("1 + 2?")
    agentflow.send("How heavy?")
    agentflow.settle(3)
    agentflow.until_idle()
    agentflow.send("And now?")
    text = passes(agentflow)
    assert "replies_of:\n  sub:\n" in text
    assert "- result: '3'\n" in text
    assert "kind: auth" in text


def test_a_stopped_turn_and_a_question_that_expired_end_as_they_did(agentflow: Kit) -> None:
    agentflow.agent(settings={"ask_user_expiry_secs": 60}, replies=[ASK, {"text": "a2"}, ASK, {"text": "a4"}])
    agentflow.send("u1")
    agentflow.advance(60)
    agentflow.send("u2")
    agentflow.send("u3")
    agentflow.stop()
    agentflow.hold()
    agentflow.submit({"type": "client.message", "message": {"role": "user", "content": "u4"}})
    agentflow.stop()
    agentflow.release()
    agentflow.send("u5")
    assert passes(agentflow).count("stop: true") == 2


def test_secrets_are_taken_out(agentflow: Kit) -> None:
    """Z4"""
    agentflow.agent(replies=[{"text": "Fine."}])
    agentflow.send("Authorization: Bearer sk-verysecretverysecret")
    text, _ = captured(agentflow)
    assert "sk-verysecret" not in text


def test_what_cannot_be_taken_over_is_said(agentflow: Kit) -> None:
    agentflow.agent(replies=[{"text": "Write NAME."}])
    agentflow.send("A template.")
    events = agentflow.events()
    (reply,) = (event for event in events if event.type == "message.new" and event.data["message"]["role"] != "user")
    reply.data["message"]["content"] = "Write {{ name }}."
    text, lacks = captured_scenario(agentflow.session(), events, ())
    assert "Write { { name }}." in text
    assert len(lacks) == 1
    agentflow.agent("silent", settings={"observability": False}, replies=[{"text": "Fine."}])
    agentflow.send("Forget it.", "s-2", agent_id="silent")
    with pytest.raises(InvalidInput, match="no words"):
        captured(agentflow, "s-2")
