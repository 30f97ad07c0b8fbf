"""The worker: asked at each decision point, and what its answers do (C31-C34)."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from agentflow.store.sql.tables import Base
from agentflow.testing import Kit
from tests.scenarios.support import call, results, rows, said

NOT_COMPARED = {"duration_ms", "first_token_ms", "config_hash"}


def double(n: int) -> int:
    """Double a number.

    Args:
        n: The number.
    """
    return 2 * n


def refund(amount: int) -> str:
    """Refund an amount, which a person does.

    Args:
        amount: How much.
    """
    raise AssertionError(f"never run here: {amount}")


def proposal(request: dict[str, Any]) -> Any:
    return request["proposed"]


class Recorder:
    """Takes what is proposed, except at the triggers it was given answers for."""

    def __init__(self, **answers: Any) -> None:
        self.requests: list[dict[str, Any]] = []
        self._answers = {name.replace("_", ".", 1): answer for name, answer in answers.items()}

    def __call__(self, request: dict[str, Any]) -> Any:
        self.requests.append(request)
        answer = self._answers.get(request["trigger"]["type"], proposal)
        return answer(request) if callable(answer) else answer

    def triggers(self) -> list[str]:
        return [request["trigger"]["type"] for request in self.requests]

    def of(self, trigger: str) -> dict[str, Any]:
        return next(request for request in self.requests if request["trigger"]["type"] == trigger)


REPLIES: list[dict[str, Any]] = [
    {"text": "Let me see.", "tool_calls": [call("double", n=2), call("double", n=3)]},
    {"text": "Four and six."},
    {"text": "Again."},
]


def two_turns(kit: Kit, **keys: Any) -> None:
    """A turn with tools, and the regeneration of its answer."""
    kit.agent(tools=[double], replies=REPLIES, settings={"max_parallel_tools": 1}, **keys)
    kit.send("Double 2 and 3")
    kit.deliver({"type": "client.messages", "messages": kit.path()[:1]})


def stored(kit: Kit) -> dict[str, list[tuple[Any, ...]]]:
    """Every row, without durations and without the hash of the configuration, which names the worker."""
    found = {}
    for table in Base.metadata.sorted_tables:
        names = [column.name for column in table.columns if column.name not in NOT_COMPARED]
        listed = rows(kit._db, f"SELECT {', '.join(names)} FROM {table.name} ORDER BY {', '.join(names)}")
        found[table.name] = [tuple(map(_comparable, row)) for row in listed if table.name != "blob"]
    return found


def _comparable(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    if "config_hash" in value:
        return {**json.loads(value), "config_hash": None}
    return re.sub(r'"duration_ms":\d+', '"duration_ms":0', value)


def test_a_worker_that_only_returns_what_is_proposed_changes_nothing(agentflow: Kit, tmp_path: Path) -> None:
    """C32: the wire and every stored row are those of a run without a worker, which is not asked `session.start`."""
    without = Kit(tmp_path, f"sqlite:///{tmp_path}/without.db", agentflow.clock)
    recorder = Recorder()
    try:
        two_turns(without)
        two_turns(agentflow, worker=recorder)
        assert [request.messages for request in agentflow.requests] == [
            request.messages for request in without.requests
        ]
        assert [request.tools for request in agentflow.requests] == [request.tools for request in without.requests]
        assert [version[2] for version in stored(agentflow)["state_version"]] == ["started"]
        assert stored(agentflow) | {"state_version": []} == stored(without)
    finally:
        without.close()
    assert recorder.triggers() == [
        "session.start", "client.messages", "llm.finished", "tool.finished", "tool.finished", "llm.finished",
        "turn.finished", "client.messages", "llm.finished", "turn.finished",
    ]  # fmt: skip


@pytest.mark.parametrize(("interface", "named"), [("main", {}), ("small", {"model": "llm://small"})])
def test_the_agent_that_is_proposed_is_no_change_however_its_file_names_the_model(
    agentflow: Kit, interface: str, named: dict[str, Any]
) -> None:
    """C32"""
    path = agentflow.agent(replies=[{"text": "ok"}], worker=proposal)
    keys = json.loads(path.read_text())
    del keys["model"]
    path.write_text(json.dumps({**keys, **named, "interfaces": {interface: {"model": "scripted/m.yaml"}}}))
    assert agentflow.send("hi").answer == "ok"
    assert [version[2] for version in stored(agentflow)["state_version"]] == ["started"]


def test_a_request_says_what_the_worker_must_know(agentflow: Kit) -> None:
    """C31, C12: ids are given, the path includes the delivered input."""
    recorder = Recorder()
    agentflow.agent(replies=[{"text": "Hello."}], worker=recorder)
    agentflow.send({"id": "u1", "role": "user", "content": "hi"}, client={"state": {"screen": 1}})
    asked = recorder.of("client.messages")
    assert asked["trigger"] == {
        "type": "client.messages",
        "messages": [{"id": "u1", "role": "user", "content": "hi"}],
        "new_from": 0,
        "client": {"state": {"screen": 1}},
    }
    assert asked["proposed"] == {
        "messages": [{"id": "u1", "role": "user", "content": "hi"}],
        "actions": [{"type": "llm.call"}],
    }
    assert (asked["session_id"], asked["agent_id"], asked["attempts"], asked["state"]) == ("s-1", "test", 1, None)
    assert asked["agent"]["prompt"] == "You are under test."
    assert asked["deadline"].startswith("2030-01-01T09:05:00")
    finished = recorder.of("llm.finished")["trigger"]
    assert (finished["purpose"], finished["ok"], finished["truncated"]) == ("main", True, False)
    assert finished["message"]["content"] == "Hello."
    assert len({request["decision_id"] for request in recorder.requests}) == 4


def test_the_trigger_of_a_view_has_its_index_of_the_first_new_message(agentflow: Kit) -> None:
    """seed: The worker sees messages: [u1, e1] with new_from: 1."""
    recorder = Recorder()
    agentflow.agent(replies=lambda request: {"text": "ok"}, worker=recorder)
    agentflow.send({"id": "u1", "role": "user", "content": "weather in NYC?"})
    agentflow.send("and tomorrow?")
    view = [{"id": "u1", "role": "user", "content": "x"}, {"role": "user", "content": "weather in LA instead"}]
    agentflow.deliver({"type": "client.messages", "messages": view})
    trigger = [each["trigger"] for each in recorder.requests if each["trigger"]["type"] == "client.messages"][-1]
    assert trigger["new_from"] == 1
    assert [message["content"] for message in trigger["messages"]] == ["x", "weather in LA instead"]
    assert all(message["id"] for message in trigger["messages"])


def test_an_empty_answer_writes_nothing_and_the_turn_ends(agentflow: Kit) -> None:
    """C31, C33: a turn left with no open call and no action ends `done`."""
    agentflow.agent(replies=[], worker=Recorder(client_messages={}))
    result = agentflow.send("hi")
    assert (result.state, result.answer) == ("done", None)
    assert [each["content"] for each in agentflow.path()] == ["hi"]
    assert agentflow.requests == []


def test_a_worker_may_answer_by_itself(agentflow: Kit) -> None:
    def answer(request: dict[str, Any]) -> dict[str, Any]:
        said = {"role": "assistant", "content": "From the worker."}
        return {"messages": [*request["messages"], said], "actions": [{"type": "done"}]}

    agentflow.agent(replies=[], worker=Recorder(client_messages=answer))
    assert agentflow.send("hi").answer == "From the worker."
    assert [each["content"] for each in agentflow.path()] == ["hi", "From the worker."]


def test_a_view_of_the_worker_may_branch(agentflow: Kit) -> None:
    """C33: its messages are merged as a view; the input as it came stays in the tree."""

    def reworded(request: dict[str, Any]) -> dict[str, Any]:
        return {"messages": [{"role": "user", "content": "HI"}], "actions": [{"type": "llm.call"}]}

    agentflow.agent(replies=[{"text": "ok"}], worker=Recorder(client_messages=reworded))
    assert agentflow.send("hi").answer == "ok"
    assert [each["content"] for each in agentflow.path()] == ["HI", "ok"]
    assert sorted(str(node["message"]["content"]) for node in agentflow.tree()["nodes"]) == ["HI", "hi", "ok"]
    assert said(agentflow.requests[0])[-1] == ("user", "HI")


def test_messages_of_an_llm_call_are_sent_verbatim(agentflow: Kit) -> None:
    """C33: without the system prompt."""
    action = {"type": "llm.call", "messages": [{"role": "user", "content": "just this"}]}

    def only(request: dict[str, Any]) -> dict[str, Any]:
        return {"messages": request["messages"], "actions": [action]}

    agentflow.agent(replies=[{"text": "ok"}], worker=Recorder(client_messages=only))
    agentflow.send("hi")
    assert said(agentflow.requests[0]) == [("user", "just this")]


def test_a_changed_reply_is_recorded_and_the_raw_one_kept(agentflow: Kit) -> None:
    """C33: the raw reply stays in the call row."""

    def censored(request: dict[str, Any]) -> dict[str, Any]:
        *path, reply = request["proposed"]["messages"]
        return {"messages": [*path, {**reply, "content": "[redacted]"}], "actions": [{"type": "done"}]}

    agentflow.agent(replies=[{"text": "secret"}], worker=Recorder(llm_finished=censored))
    assert agentflow.send("hi").answer == "[redacted]"
    assert agentflow.path()[-1]["content"] == "[redacted]"
    ((raw,),) = rows(agentflow._db, "SELECT raw_reply FROM llm_call")
    assert json.loads(raw)["content"] == "secret"


def test_calls_that_nobody_acts_on_get_placeholders(agentflow: Kit) -> None:
    """C33."""

    def only_the_first(request: dict[str, Any]) -> dict[str, Any]:
        actions = request["proposed"]["actions"]
        return {"messages": request["proposed"]["messages"], "actions": actions[:1]}

    recorder = Recorder(llm_finished=only_the_first)
    agentflow.agent(
        tools=[double], replies=[{"tool_calls": [call("double", n=2), call("double", n=3)]}, {"text": "ok"}],
        worker=recorder,
    )  # fmt: skip
    assert agentflow.send("hi").state == "done"
    assert sorted(results(agentflow.requests[1])) == ["4", "Error: Not run: the worker did not act on this call."]


def test_a_worker_may_change_the_input_of_a_call_and_answer_another(agentflow: Kit) -> None:
    def decide(request: dict[str, Any]) -> dict[str, Any]:
        first, second = request["proposed"]["actions"]
        answered = {"type": "tool.result", "id": second["id"], "result": {"six": 6}}
        return {"messages": request["proposed"]["messages"], "actions": [{**first, "input": {"n": 50}}, answered]}

    once = iter([decide, proposal])
    recorder = Recorder(llm_finished=lambda request: next(once)(request))
    agentflow.agent(
        tools=[double], replies=[{"tool_calls": [call("double", n=2), call("double", n=3)]}, {"text": "ok"}],
        worker=recorder,
    )  # fmt: skip
    agentflow.send("hi")
    assert results(agentflow.requests[1]) == ["100", '{"six":6}']


def test_a_worker_may_run_a_tool_of_its_own_before_the_model_is_called(agentflow: Kit) -> None:
    def first(request: dict[str, Any]) -> dict[str, Any]:
        own = {"type": "tool.call", "name": "double", "input": {"n": 21}}
        return {"messages": request["messages"], "actions": [own]}

    agentflow.agent(tools=[double], replies=[{"text": "42"}], worker=Recorder(client_messages=first))
    assert agentflow.send("hi").answer == "42"
    assert [each["role"] for each in agentflow.path()] == ["user", "assistant", "tool", "assistant"]
    assert results(agentflow.requests[0]) == ["42"]


def test_a_worker_may_ask_the_user(agentflow: Kit) -> None:
    """C33, T18; C32: `ask_user.answered` follows the answer."""
    question = {"header": "Plan", "question": "Which one?"}

    def ask(request: dict[str, Any]) -> dict[str, Any]:
        return {"messages": request["messages"], "actions": [{"type": "ask_user", "questions": [question]}]}

    recorder = Recorder(client_messages=ask)
    agentflow.agent(replies=[{"text": "ok"}], worker=recorder)
    assert agentflow.send("hi").state == "paused_ask_user"
    assert agentflow.send("Pro").answer == "ok"
    assert recorder.of("ask_user.answered")["trigger"]["answer"] == "Plan: Pro"
    assert results(agentflow.requests[0]) == ["Plan: Pro"]


def test_done_and_fail_end_the_turn(agentflow: Kit) -> None:
    def fail(request: dict[str, Any]) -> dict[str, Any]:
        return {"actions": [{"type": "fail", "error": "offline"}]}

    agentflow.agent(replies=[], worker=Recorder(client_messages=fail))
    result = agentflow.send("hi")
    assert result.state == "failed"
    assert result.error is not None
    assert (result.error["code"], result.error["message"]) == ("worker_failed", "offline")


def test_a_result_may_be_changed_before_it_is_recorded(agentflow: Kit) -> None:
    def shorter(request: dict[str, Any]) -> dict[str, Any]:
        *path, result = request["proposed"]["messages"]
        return {"messages": [*path, {**result, "content": "four"}], "actions": request["proposed"]["actions"]}

    agentflow.agent(
        tools=[double], replies=[{"tool_calls": [call("double", n=2)]}, {"text": "ok"}],
        worker=Recorder(tool_finished=shorter),
    )  # fmt: skip
    assert agentflow.send("hi").answer == "ok"
    assert results(agentflow.requests[1]) == ["four"]


def test_a_worker_that_leaves_the_path_voids_the_calls_it_leaves_behind(agentflow: Kit) -> None:
    """C20: work whose anchor is not on the new path is cancelled and recorded as `call.voided`."""

    def leave(request: dict[str, Any]) -> dict[str, Any]:
        return {"messages": [{"role": "user", "content": "start over"}], "actions": [{"type": "llm.call"}]}

    agentflow.agent(
        tools=[double, {"flow": refund, "handler": "worker"}],
        replies=[{"tool_calls": [call("refund", amount=1), call("double", n=2)]}, {"text": "fresh"}],
        worker=Recorder(tool_finished=leave),
    )  # fmt: skip
    result = agentflow.send("hi")
    assert (result.state, result.answer) == ("done", "fresh")
    assert [each["content"] for each in agentflow.path()] == ["start over", "fresh"]
    voided = {event.data["name"]: event.data["id"] for event in agentflow.events("call.voided")}
    assert set(voided) == {"refund", "double"}
    assert said(agentflow.requests[1])[1:] == [("user", "start over")]
    late = agentflow.run(agentflow.runtime.settle("s-1", voided["refund"], result="late"))
    assert late["outcome"] == "ignored"


@pytest.mark.parametrize("answer", [
    {"actoins": []}, {"actions": [{"type": "dance"}]}, {"actions": [{"type": "fail"}]}, [], 7,
    {"messages": [{"role": "tool", "tool_call_id": "x", "content": "no call"}]}, {"agent": {"tools": ["x"]}},
    {"actions": [{"type": "llm.call", "llm": "nobody"}]},
])  # fmt: skip
def test_an_answer_that_cannot_be_used_fails_the_turn_and_loses_nothing(agentflow: Kit, answer: Any) -> None:
    """C34: with a clear error; the session goes on."""
    agentflow.agent(replies=[], worker=Recorder(client_messages=answer))
    result = agentflow.send("hi")
    assert result.state == "failed"
    assert result.error is not None
    assert result.error["code"] == "worker_failed"
    assert [each["content"] for each in agentflow.path()] == ["hi"]
    agentflow.agent(replies=[{"text": "ok"}])
    assert agentflow.send("again").answer == "ok"


def test_a_worker_that_raises_fails_the_turn_with_what_it_raised(agentflow: Kit) -> None:
    def broken(request: dict[str, Any]) -> None:
        raise ZeroDivisionError("oh no")

    agentflow.agent(replies=[{"text": "said"}], worker=Recorder(llm_finished=broken))
    result = agentflow.send("hi")
    assert (result.state, result.answer) == ("failed", "said")
    assert "ZeroDivisionError: oh no" in result.error["message"]  # type: ignore[index]  # it failed
