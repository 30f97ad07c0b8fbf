"""A worker's answers are checked whole, then done in order; nothing is dropped (C33, D20-D29)."""

from __future__ import annotations

from typing import Any

import pytest

from agentflow import ModelRequest
from agentflow.testing import Kit
from tests.scenarios.rooms import FILLER, answering, chatty, of_purpose, over
from tests.scenarios.support import call, results, rows, said
from tests.scenarios.test_worker import Recorder, double, proposal, refund

QUESTION = {"header": "Plan", "question": "Which one?"}
PATH_ROWS = "SELECT id, branch, depth FROM message ORDER BY branch, depth"


def answers(kit: Kit, trigger: str, answer: Any, **keys: Any) -> Recorder:
    """An agent whose worker answers one trigger in its own way."""
    recorder = Recorder(**{trigger.replace(".", "_", 1): answer})
    kit.agent(worker=recorder, **({"replies": chatty} | keys))
    return recorder


def refused(kit: Kit, result: Any, field: str) -> None:
    """The turn failed with the field's name, told once, and the session goes on."""
    assert (result.state, result.error["code"]) == ("failed", "worker_failed")
    assert result.error["detail"]["field"] == field
    assert len(kit.events("error")) == 1
    kit.agent(replies=chatty)
    assert kit.send("and then?").state == "done"


# -- checked before it is done -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("trigger", ["client.messages", "llm.finished", "context.limit", "turn.finished"])
def test_a_replace_that_cannot_be_leaves_everything_as_it_was(agentflow: Kit, trigger: str) -> None:
    """D20: worker_failed naming the field; path, head and rows as before."""
    replace = {"actions": [{"type": "context.replace", "summary": {"a": 1}}], "state": {"kept": "no"}}
    armed = [False]

    def answer(request: dict[str, Any]) -> Any:
        return replace if armed[0] else request["proposed"]

    answers(agentflow, trigger, answer, **({"context": over(700)} if trigger == "context.limit" else {}))
    for text in ("FIRST", "SECOND"):
        agentflow.send(f"{text} {FILLER}")
    before = agentflow.path()
    armed[0] = True
    result = agentflow.send("again")
    assert agentflow.path()[: len(before)] == before
    assert agentflow.events("context.replaced") == []
    assert agentflow.session()["state"] is None
    refused(agentflow, result, "actions[0].summary")


@pytest.mark.parametrize(("answer", "field"), [
    ({"messages": [{"id": "n", "role": "user", "content": "a"}, {"id": "n", "role": "user", "content": "b"}]},
     "messages[1].id"),
    ({"actions": [{"type": "context.replace", "messages": [{"id": "n", "role": "user", "content": "a"}] * 2}]},
     "actions[0].messages[1].id"),
    ({"actions": [{"type": "tool.call", "id": "x", "name": "double", "input": {"n": 1}}] * 2}, "actions[1].id"),
    ({"actions": [{"type": "llm.call", "stream": 7}]}, "actions[0].stream"),
    ({"actions": [{"type": "llm.call", "llm": "nobody"}]}, "actions[0].llm"),
    ({"actions": [{"type": "llm.call", "prompt": "{{ nothing", "template": True}]}, "actions[0].prompt"),
    ({"actions": [{"type": "tool.call", "name": "dance"}]}, "actions[0].name"),
    ({"actions": [{"type": "done"}, {"type": "tool.call", "name": "double"}]}, "actions[1].type"),
    ({"actions": [{"type": "llm.call"}, {"type": "ask_user", "questions": [QUESTION]}]}, "actions[1].type"),
    ({"actions": [{"type": "tool.result", "id": "c1"}]}, "actions[0].type"),
    ({"agent": {"prompt": "{{ nothing", "template": True}}, "agent"), ({"agent": {"model": "nobody"}}, "agent.model"),
    ({"agent": {"tools": ["dance"]}}, "agent.tools[0]"), ({"agent": {"name": "other"}}, "agent.name"),
    ({"agent": {"settings": {"max_iterations": -1}}}, None), ({"agent": {"template": True}}, "agent.template"),
])  # fmt: skip
def test_what_cannot_be_done_is_refused_whole(agentflow: Kit, answer: dict[str, Any], field: str | None) -> None:
    """D22, D23, D25: nothing of it is done, a state beside it neither."""
    answers(agentflow, "client.messages", {**answer, "state": 1}, tools=[double], replies=[])
    result = agentflow.send("hi")
    assert [message["content"] for message in agentflow.path()] == ["hi"]
    assert rows(agentflow._db, "SELECT kind FROM state_version") == [("started",)]
    assert result.error is not None
    refused(agentflow, result, field or result.error["detail"]["field"])


@pytest.mark.parametrize("action", [
    {"type": "ask_user", "questions": [QUESTION]}, {"type": "tool.call", "name": "double", "input": {"n": 1}},
])  # fmt: skip
def test_a_held_call_cannot_become_something_else(agentflow: Kit, action: dict[str, Any]) -> None:
    """D25: at context.limit; the held call is given up, its phase closed."""
    answers(agentflow, "context.limit", {"actions": [action]}, tools=[double], context=over(800))
    for text in ("FIRST", "SECOND"):
        agentflow.send(f"{text} {FILLER}")
    result = agentflow.send("again")
    assert [event.data["reason"] for event in agentflow.events("context.kept")] == ["failed"]
    refused(agentflow, result, "actions[0].type")


def test_a_model_call_while_calls_are_open_is_refused(agentflow: Kit) -> None:
    """D25: no hang; the other call's result would be lost."""
    tools = [double, {"flow": refund, "handler": "worker"}]
    replies = [{"tool_calls": [call("refund", amount=1), call("double", n=2)]}]
    answers(agentflow, "tool.execute", {"actions": [{"type": "llm.call"}]}, tools=tools, replies=replies)
    refused(agentflow, agentflow.send("hi"), "actions[0].type")


# -- done in order -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [1, -1], ids=["replace first", "replace last"])
def test_a_replace_beside_a_replys_calls(agentflow: Kit, order: int) -> None:
    """D21: the replace, then the calls run once, no extra model call; the reply follows the new history."""

    def decide(request: dict[str, Any]) -> Any:
        if not request["trigger"]["message"].get("tool_calls"):
            return request["proposed"]
        replace = {"type": "context.replace", "summary": "S"}
        actions = [replace, *request["proposed"]["actions"]]
        return {"messages": request["proposed"]["messages"], "actions": actions[::order]}

    ran: list[int] = []

    def count(n: int) -> str:
        """Count.

        Args:
            n: How far.
        """
        ran.append(n)
        return f"counted {n}"

    replies = [{"tool_calls": [call("count", n=1), call("count", n=2)]}, {"text": "well"}]
    answers(agentflow, "llm.finished", decide, tools=[count], replies=replies)
    assert agentflow.send("hi").answer == "well"
    assert sorted(ran) == [1, 2]
    assert len(agentflow.requests) == 2
    assert [message["role"] for message in agentflow.path()] == ["user", "assistant", "tool", "tool", "assistant"]
    assert results(agentflow.requests[1]) == ["counted 1", "counted 2"]


def test_a_call_of_the_workers_own_is_followed_by_what_it_says(agentflow: Kit) -> None:
    """C33: [tool.call, done] runs the tool and ends the turn."""
    actions = [{"type": "tool.call", "name": "double", "input": {"n": 4}}, {"type": "done", "data": {"n": 8}}]
    recorder = answers(agentflow, "client.messages", {"actions": actions}, tools=[double], replies=[])
    result = agentflow.send("hi")
    assert (result.state, result.data) == ("done", {"n": 8})
    assert recorder.of("tool.finished")["proposed"]["actions"] == [{"type": "done", "data": {"n": 8}}]
    assert agentflow.path()[-1]["content"] == "8"


def test_done_while_calls_run_closes_them(agentflow: Kit) -> None:
    """C33: the turn ends now; what is open gets a placeholder."""
    tools = [double, {"flow": refund, "handler": "worker"}]
    replies = [{"tool_calls": [call("refund", amount=1), call("double", n=2)]}]
    answers(agentflow, "tool.finished", {"actions": [{"type": "done"}]}, tools=tools, replies=replies)
    assert agentflow.send("hi").state == "done"
    texts = {message["name"]: message["content"] for message in agentflow.path()[2:]}
    assert "the worker ended the turn" in texts["refund"]


def test_a_result_for_another_open_call_reaches_it(agentflow: Kit) -> None:
    """C33: tool.result at one call's decision settles another one that waits."""
    tools = [double, {"flow": refund, "handler": "worker"}]
    replies = [{"tool_calls": [call("refund", amount=1), call("double", n=2)]}, {"text": "ok"}]

    def settle(request: dict[str, Any]) -> Any:
        waiting = [each["id"] for each in request["calls"] if each["name"] == "refund"]
        if request["trigger"]["name"] == "refund" or not waiting:
            return request["proposed"]
        given = {"type": "tool.result", "id": waiting[0], "result": {"refunded": 1}}
        return {**request["proposed"], "actions": [given]}

    answers(agentflow, "tool.finished", settle, tools=tools, replies=replies)
    assert agentflow.send("hi").answer == "ok"
    assert results(agentflow.requests[1]) == ['{"refunded":1}', "4"]


@pytest.mark.parametrize("ends", [True, False], ids=["done", "its own result"])
def test_what_was_acknowledged_outside_is_kept(agentflow: Kit, ends: bool) -> None:
    """C34: the first result counts, also when the worker ends the turn or gives another one a moment later."""
    kit = agentflow

    async def execute(request: dict[str, Any]) -> dict[str, Any]:
        call_id = request["trigger"]["id"]
        settled = await kit.runtime.settle("s-1", call_id, result="from outside")
        assert settled["outcome"] == "settled"
        return {"actions": [{"type": "done"} if ends else {"type": "tool.result", "id": call_id, "result": "late"}]}

    tools, replies = [{"flow": refund, "handler": "worker"}], [{"tool_calls": [call("refund", amount=1)]}]
    answers(kit, "tool.execute", execute, tools=tools, replies=[*replies, *([] if ends else [{"text": "ok"}])])
    assert kit.send("hi").state == "done"
    assert [message["content"] for message in kit.path() if message["role"] == "tool"] == ["from outside"]


def test_an_id_that_is_taken_is_replaced_and_told(agentflow: Kit) -> None:
    """D22, C33: and so is that of a call which is answered from outside."""
    tools = [double, {"flow": refund, "handler": "worker"}]
    own = {"type": "tool.call", "id": "mine", "name": "refund", "input": {"amount": 3}}
    seen: list[Any] = []

    def execute(request: dict[str, Any]) -> Any:
        seen.append(request["calls"])
        return {"actions": [{"type": "tool.result", "id": request["trigger"]["id"], "result": "paid"}]}

    recorder = Recorder(client_messages={"actions": [own]}, tool_execute=execute)
    agentflow.agent(tools=tools, replies=chatty, worker=recorder)
    agentflow.send("hi")
    ((told,),) = seen
    assert (told["name"], told["given_id"]) == ("refund", "mine")
    assert told["id"] != "mine"


# -- everything a worker may change is used ----------------------------------------------------------------------------


def test_model_and_prompt_of_a_call_are_used(agentflow: Kit) -> None:
    """D23: and the prompt is text, not a template (Z7)."""
    action = {"type": "llm.call", "model": "scripted/other.yaml", "prompt": "Be {{ brief }}."}
    answers(agentflow, "client.messages", lambda request: {**request["proposed"], "actions": [action]})
    agentflow.send("hi")
    requested = agentflow.events("llm.call.requested")[0].data
    (sent,) = rows(agentflow._db, "SELECT body FROM blob WHERE body LIKE 'Be %'")
    assert sent == ("Be {{ brief }}.",)
    assert requested["call_id"] == agentflow.requests[0].call_id


def test_a_call_that_is_not_streamed_shows_nothing_until_it_is_there(agentflow: Kit) -> None:
    def still(request: dict[str, Any]) -> Any:
        return {**request["proposed"], "actions": [{"type": "llm.call", "stream": False}]}

    answers(agentflow, "client.messages", still, replies=[{"text": "all at once"}])
    heard: list[str] = []

    async def listen() -> Any:
        message = {"role": "user", "content": "hi"}
        told = {"type": "client.message", "message": message, "agent_id": "test"}
        receipt = await agentflow.runtime.submit("s-1", told)
        async for event in agentflow.runtime.events("s-1", receipt.after_seq, receipt.turn_id):
            heard.append(event.type)
        return await agentflow.runtime.result("s-1", receipt.turn_id)

    assert agentflow.run(listen()).answer == "all at once"
    assert "llm.delta" not in heard


def test_a_summary_is_written_as_the_worker_says(agentflow: Kit) -> None:
    """D24: with its prompt, its interface."""
    action = {"type": "llm.call", "purpose": "summary", "prompt": "Sum up!", "llm": "cheap"}
    answers(
        agentflow, "context.limit", {"actions": [action]}, context=over(200),
        replies=answering(lambda request: {"text": "SHORT"}, chatty),
        interfaces={"cheap": {"model": "scripted/cheap.yaml"}},
    )  # fmt: skip
    agentflow.send(f"FIRST {FILLER}")
    agentflow.send("again")
    (summary,) = of_purpose(agentflow.requests, "summary")
    assert said(summary)[0] == ("system", "Sum up!")


def test_an_unknown_interface_for_a_summary_is_refused(agentflow: Kit) -> None:
    """D24."""
    action = {"type": "llm.call", "purpose": "summary", "llm": "nobody"}
    answers(agentflow, "context.limit", {"actions": [action]}, context=over(700))
    for text in ("FIRST", "SECOND"):
        agentflow.send(f"{text} {FILLER}")
    refused(agentflow, agentflow.send("again"), "actions[0].llm")


def test_the_data_of_done_is_in_every_read(agentflow: Kit) -> None:
    """D26: in TurnResult.data, turn.completed, done, trace; live and from the log."""
    data = {"order": [1, 2.5, None]}

    def end(request: dict[str, Any]) -> Any:
        return {"actions": [{"type": "done", "data": data}]}

    answers(agentflow, "turn.finished", end, replies=[{"text": "ok"}])
    result = agentflow.send("hi")
    assert (result.answer, result.data, result.as_dict()["data"]) == ("ok", data, data)
    assert agentflow.result(result.turn_id).data == data
    for kind in ("turn.completed", "done"):
        assert agentflow.events(kind)[-1].data["data"] == data
    agentflow.restart()
    assert agentflow.result(result.turn_id).data == data
    assert agentflow.run(agentflow.runtime.trace("s-1"))["data"] == data


@pytest.mark.parametrize("offered", [["double"], [{"name": "double", "max_result_chars": 20}], []])
def test_a_worker_may_say_which_tools_are_offered(agentflow: Kit, offered: list[Any]) -> None:
    """C33: from here on, and how."""

    def fewer(request: dict[str, Any]) -> Any:
        return {**request["proposed"], "agent": {"tools": offered}}

    recorder = answers(agentflow, "client.messages", fewer, tools=[double, refund])
    agentflow.send("hi")
    names = [tool["function"]["name"] for tool in agentflow.requests[-1].tools]
    assert ("double" in names, "refund" in names) == (bool(offered), False)
    in_force = recorder.of("llm.finished")["agent"]["tools"]
    assert [tool["name"] for tool in in_force] == [each if isinstance(each, str) else each["name"] for each in offered]


def test_a_prompt_of_the_configuration_is_text_unless_it_is_said_to_be_a_template(agentflow: Kit) -> None:
    """Z7."""
    given = iter([{"prompt": "{{ session.id }}"}, {"prompt": "{{ session.id }}", "template": True}])
    answers(agentflow, "client.messages", lambda request: {**request["proposed"], "agent": next(given)})
    agentflow.send("one")
    agentflow.send("two")
    assert [said(request)[0][1] for request in agentflow.requests] == ["{{ session.id }}", "s-1"]


# -- session.start -----------------------------------------------------------------------------------------------------


def test_session_start_is_asked_until_it_was_answered_once(agentflow: Kit) -> None:
    """D27: it raised; turn 2 asks again, turn 3 does not."""
    raises = iter([True, False])

    def start(request: dict[str, Any]) -> Any:
        return 1 / 0 if next(raises) else {}

    recorder = answers(agentflow, "session.start", start)
    assert agentflow.send("one").state == "failed"
    assert [agentflow.send(text).state for text in ("two", "three")] == ["done", "done"]
    assert recorder.triggers().count("session.start") == 2


def test_what_session_start_gives_holds_on_every_path(agentflow: Kit) -> None:
    """D28: prompt and state, also where the first message is edited."""
    start = {"state": {"n": 1}, "agent": {"prompt": "You are changed."}}
    recorder = answers(agentflow, "session.start", start)
    agentflow.send("one")
    agentflow.deliver({"type": "client.messages", "messages": [{"role": "user", "content": "another beginning"}]})
    assert said(agentflow.requests[-1]) == [("system", "You are changed."), ("user", "another beginning")]
    assert recorder.requests[-1]["state"] == {"n": 1}
    assert agentflow.session()["state"] == {"n": 1}


def test_session_start_takes_nothing_but_state_and_agent(agentflow: Kit) -> None:
    answers(agentflow, "session.start", {"actions": [{"type": "done"}]})
    refused(agentflow, agentflow.send("one"), "actions[0].type")


# -- failed model calls ------------------------------------------------------------------------------------------------


def test_a_failed_call_is_decided_about(agentflow: Kit) -> None:
    """C32: llm.finished with ok: false; the proposal is to fail."""
    recorder = answers(agentflow, "llm.finished", proposal, replies=[{"error": {"kind": "auth"}}])
    result = agentflow.send("hi")
    assert (result.state, result.error["code"]) == ("failed", "model_error.auth")
    asked = recorder.of("llm.finished")
    assert (asked["trigger"]["ok"], asked["trigger"]["error"]["code"]) == (False, "model_error.auth")
    assert asked["proposed"]["actions"][0]["type"] == "fail"


def test_a_worker_may_go_on_after_a_failed_call(agentflow: Kit) -> None:
    """C32, C33: for example with a call once more; the failed one is closed in the log."""

    def again(request: dict[str, Any]) -> Any:
        return request["proposed"] if request["trigger"]["ok"] else {"actions": [{"type": "llm.call"}]}

    replies = iter([{"error": {"kind": "auth"}}, {"text": "second"}])
    answers(agentflow, "llm.finished", again, replies=lambda request: next(replies))
    assert agentflow.send("hi").answer == "second"
    assert [event.data["code"] for event in agentflow.events("llm.call.errored")] == ["model_error.auth"]
    assert [status for (status,) in rows(agentflow._db, "SELECT status FROM llm_call ORDER BY requested_at, id")] == [
        "errored", "completed",
    ]  # fmt: skip


def test_a_planner_that_fails_is_decided_about(agentflow: Kit) -> None:
    """C32: a failed call of any purpose."""
    interfaces = {"plans": {"model": "scripted/plans.yaml"}}

    def reply(request: ModelRequest) -> dict[str, Any]:
        return {"error": {"kind": "auth"}} if request.purpose == "planner" else {"text": "unplanned"}

    recorder = answers(
        agentflow, "llm.finished", proposal, replies=reply, planning={"planner": "llm://plans"}, interfaces=interfaces
    )
    assert agentflow.send("hi").answer == "unplanned"
    planner = recorder.of("llm.finished")
    assert (planner["trigger"]["purpose"], planner["trigger"]["ok"]) == ("planner", False)
    assert planner["proposed"]["actions"] == [{"type": "llm.call"}]


# -- sub-agents --------------------------------------------------------------------------------------------------------


def parent(kit: Kit, tool: str) -> None:
    """An agent that gives its helper a task, or the turn."""
    handing = {"task": {"prompt": "x"}, "delegate": {"message": "x"}}[tool]
    calls = {"tool_calls": [call(tool, agent="helper", **handing)]}
    kit.agent("parent", sub_agents=["helper"], replies=[calls, *([{"text": "ok"}] if tool == "task" else [])])


@pytest.mark.parametrize("tool", ["task", "delegate"])
def test_a_sub_agents_worker_is_asked_in_its_run(agentflow: Kit, tool: str) -> None:
    """C33, T35: and the request says which run it is."""
    recorder = Recorder(client_messages=lambda request: {**request["proposed"], "state": {"seen": True}})
    agentflow.agent("helper", replies=[{"text": "helped"}], worker=recorder)
    parent(agentflow, tool)
    assert agentflow.send("go").state == "done"
    assert recorder.triggers() == ["client.messages", "llm.finished", "turn.finished"]
    assert {request["execution"] for request in recorder.requests} == {2}
    assert recorder.requests[-1]["state"] == {"seen": True}
    assert agentflow.session()["state"] is None


def test_a_sub_agents_worker_hears_the_answer_of_its_question(agentflow: Kit) -> None:
    """C32, T22: in another process too."""
    recorder = Recorder()
    asks = call("ask_user", questions=[QUESTION])
    replies = [{"tool_calls": [asks]}, {"text": "Pro it is"}]
    agentflow.agent("helper", replies=replies, worker=recorder)
    parent(agentflow, "delegate")
    assert agentflow.send("go").state == "paused_ask_user"
    agentflow.restart()
    assert agentflow.send("Pro").answer == "Pro it is"
    answered = recorder.of("ask_user.answered")
    assert (answered["trigger"]["answer"], answered["execution"]) == ("Plan: Pro", 2)


def test_data_of_a_run_that_the_turn_was_handed_to_is_the_turns(agentflow: Kit) -> None:
    recorder = Recorder(turn_finished={"actions": [{"type": "done", "data": 7}]})
    agentflow.agent("helper", replies=[{"text": "helped"}], worker=recorder)
    parent(agentflow, "delegate")
    result = agentflow.send("go")
    assert (result.answer, result.data) == ("helped", 7)


@pytest.mark.parametrize("tool", ["task", "delegate"])
def test_the_prompt_of_a_sub_agent_reads_the_variables_of_its_own_hook(agentflow: Kit, tool: str) -> None:
    """D49: as task and delegate, over a pause too."""

    def know() -> dict[str, Any]:
        return {"vars": {"plan": "Pro"}}

    asks = [{"tool_calls": [call("ask_user", questions=[QUESTION])]}] if tool == "delegate" else []
    agentflow.agent(
        "helper", prompt="On {{ vars.plan }}.", hooks={"step_start": [know]}, replies=[*asks, {"text": "ok"}]
    )
    parent(agentflow, tool)
    result = agentflow.send("go")
    if result.state == "paused_ask_user":
        agentflow.restart()
        result = agentflow.send("Pro")
    assert result.answer == "ok"
    assert {said(request)[0] for request in agentflow.requests_of("helper")} == {("system", "On Pro.")}


# -- a worker that is away ---------------------------------------------------------------------------------------------


def test_each_failed_attempt_is_an_event(agentflow: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    """D29, C34: streamed, with the time of the next."""
    from agentflow.agents import worker

    monkeypatch.setattr(worker, "MAX_PAUSE_SECS", 0.2)  # so that the listener is there for the second at the latest
    monkeypatch.setattr(worker, "ATTEMPTS", 3)
    agentflow.agent(replies=[], worker="http://127.0.0.1:9/decide")
    heard: list[Any] = []

    async def listen() -> Any:
        message = {"role": "user", "content": "hi"}
        told = {"type": "client.message", "message": message, "agent_id": "test"}
        receipt = await agentflow.runtime.submit("s-1", told)
        async for event in agentflow.runtime.events("s-1", receipt.after_seq, receipt.turn_id):
            heard.append(event)
        return await agentflow.runtime.result("s-1", receipt.turn_id)

    assert agentflow.run(listen()).state == "failed"
    retrying = [event for event in heard if event.type == "worker.retrying"]
    assert [event.data["attempt"] for event in retrying] in ([1, 2], [2])
    assert {event.seq for event in retrying} == {None}
    assert retrying[-1].data["next_secs"] == 0.2
    assert "Connect" in retrying[0].data["error"]
