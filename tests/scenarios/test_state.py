"""Agent state: written with a decision, read along the path (C30)."""

from __future__ import annotations

from typing import Any

from agentflow.testing import Kit
from tests.scenarios.support import said
from tests.scenarios.test_worker import Recorder


def counting(request: dict[str, Any]) -> dict[str, Any]:
    """Counts the inputs on the path."""
    return {**request["proposed"], "state": {"inputs": (request["state"] or {"inputs": 0})["inputs"] + 1}}


def user(text: str, identifier: str) -> dict[str, Any]:
    return {"id": identifier, "role": "user", "content": text}


def view(*messages: dict[str, Any]) -> dict[str, Any]:
    return {"type": "client.messages", "messages": list(messages)}


def test_state_is_read_along_the_path_and_found_again_when_switching_back(agentflow: Kit) -> None:
    """C6: nothing of another branch leaks in. seed: the engine reads state along the active path."""
    recorder = Recorder(client_messages=counting)
    agentflow.agent(replies=lambda request: {"text": "ok"}, worker=recorder)
    agentflow.send(user("one", "u1"))
    agentflow.send(user("two", "u2"))
    assert agentflow.session()["state"] == {"inputs": 2}
    agentflow.deliver(view(user("one", "u1"), user("another", "u3")))
    assert agentflow.session()["state"] == {"inputs": 2}
    assert [each["state"] for each in recorder.requests if each["trigger"]["type"] == "client.messages"] == [
        None, {"inputs": 1}, {"inputs": 1},
    ]  # fmt: skip
    agentflow.run(agentflow.runtime.checkout("s-1", "u1"))
    assert agentflow.session()["state"] == {"inputs": 1}
    agentflow.run(agentflow.runtime.checkout("s-1", "u2"))
    assert agentflow.session()["state"] == {"inputs": 2}
    assert len(agentflow.events("state.updated")) == 3


def test_an_equal_value_writes_no_version_and_an_empty_one_clears(agentflow: Kit) -> None:
    answers: list[Any] = [{"a": 1, "b": 2}, {"b": 2, "a": 1}, None, {}]

    def next_state(request: dict[str, Any]) -> dict[str, Any]:
        return {**request["proposed"], "state": answers.pop(0)}

    agentflow.agent(replies=lambda request: {"text": "ok"}, worker=Recorder(client_messages=next_state))
    seen = []
    for text in "abcd":
        agentflow.send(text)
        seen.append(agentflow.session()["state"])
    assert seen == [{"a": 1, "b": 2}] * 3 + [{}]
    assert [event.data["version"] for event in agentflow.events("state.updated")] == [1, 2]


def test_a_version_is_anchored_at_the_head_after_the_decisions_messages(agentflow: Kit) -> None:
    def decide(request: dict[str, Any]) -> dict[str, Any]:
        return {**request["proposed"], "state": {"v": 1}}

    agentflow.agent(replies=[{"text": "ok"}], worker=Recorder(llm_finished=decide))
    agentflow.send("hi")
    (event,) = agentflow.events("state.updated")
    assert event.data["head_id"] == agentflow.path()[-1]["id"]


def test_a_changed_configuration_holds_on_its_branch(agentflow: Kit) -> None:
    """C31, C6: the config in force."""

    def start(request: dict[str, Any]) -> dict[str, Any]:
        return {"agent": {"prompt": "Changed."}}

    agentflow.agent(replies=lambda request: {"text": "ok"}, worker=Recorder(session_start=start))
    agentflow.send("a")
    agentflow.restart()
    agentflow.send("b")
    assert [said(request)[0] for request in agentflow.requests] == [("system", "Changed.")] * 2
