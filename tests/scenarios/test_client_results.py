"""Results of client tools: each recorded once, by any door, in any process; the last one lets the turn go on (C39)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agentflow import CallAlreadyAnswered, CallNotFound, InvalidInput, QuestionExpired, TurnAlreadyActive
from agentflow.testing import Kit, ProcessKilled
from tests.scenarios.invariants import check_wire
from tests.scenarios.support import call, results, rows, said
from tests.scenarios.test_client_tools import ASK, DONE, PICK, SHOW, Reply, double, reply, waiting

BOTH = (call("show", n=1), call("double", n=2), call("pick"))


def tool(call_id: str, content: str = "shown", **fields: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content, **fields}


def append(*messages: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"type": "client.append", "messages": list(messages), **fields}


def settle(kit: Kit, call_id: str, **given: Any) -> str:
    return str(kit.run(kit.runtime.settle("s-1", call_id, **given))["outcome"])


@pytest.mark.parametrize("elsewhere", [False, True], ids=["this process", "another process"])
def test_the_turn_goes_on_in_a_new_step_once_all_are_there(agentflow: Kit, agentflow_db: str, elsewhere: bool) -> None:
    show, pick = waiting(agentflow, *BOTH, then=[DONE])
    if elsewhere:
        agentflow.kill()
        agentflow.reopen()
    assert settle(agentflow, pick, result={"file": "a.txt"}) == "settled"
    status = agentflow.status()
    assert [each["tool_call_id"] for each in status["calls"]] == [show]
    assert (status["pending"], agentflow.result("t-1").state) == (True, "paused_ask_user")
    assert settle(agentflow, show, error="no screen") == "settled"
    assert agentflow.result("t-1").answer == "Done."
    assert results(agentflow.requests[-1]) == ["Error: no screen", "4", '{"file":"a.txt"}']
    check_wire(agentflow.requests[-1].messages)
    assert [(step["order"], step["status"]) for step in agentflow.session()["steps"]] == [
        (1, "paused_ask_user"), (2, "done"),
    ]  # fmt: skip
    told = [(e.type, e.data["name"]) for e in agentflow.events("tool.call.completed", "tool.call.errored")]
    assert told == [
        ("tool.call.completed", "double"), ("tool.call.completed", "pick"), ("tool.call.errored", "show"),
    ]  # fmt: skip
    assert rows(agentflow_db, "SELECT DISTINCT status, ok FROM tool_call ORDER BY ok") == [
        ("finished", 0), ("finished", 1),
    ]  # fmt: skip
    assert agentflow.events("ask_user.answered") == []


def test_results_come_as_messages_with_their_ids(agentflow: Kit) -> None:
    """An answering message's id is the node's; a later view with it goes on from there."""
    show, pick = waiting(agentflow, *BOTH, then=[DONE, DONE])
    first = agentflow.submit(append(tool(show, id="m-1"), turn_id="t-2"))
    assert (first.turn_id, first.replayed, first.queued) == ("t-1", False, False)
    again = agentflow.submit(append(tool(show, id="m-1"), turn_id="t-2"))
    assert (again.turn_id, again.replayed) == ("t-1", True)
    last = agentflow.deliver(append(tool(pick, "broken", id="m-2", error=True), turn_id="t-3"))
    assert (last.turn_id, last.answer) == ("t-1", "Done.")
    assert agentflow.result("t-3").answer == last.answer
    assert results(agentflow.requests[-1]) == ["shown", "4", "Error: broken"]
    path = agentflow.path()
    assert [message["id"] for message in path if message["role"] == "tool"][1:] == ["m-1", "m-2"]
    assert agentflow.view([*path, {"role": "user", "content": "Next."}]).answer == "Done."


@pytest.mark.parametrize("shown", [2, 3], ids=["without the other result", "with it"])
def test_results_come_in_a_view(agentflow: Kit, shown: int) -> None:
    show, pick = waiting(agentflow, *BOTH, then=[DONE])
    path = agentflow.path()[:shown]
    partial = agentflow.view([*path, tool(show, id="m-1")])
    assert (partial.state, [each["tool_call_id"] for each in partial.calls]) == ("paused_ask_user", [pick])
    assert agentflow.view([*path, tool(show, id="m-1")]).pending_kind == "tools"
    assert agentflow.view([*path, tool(show, id="m-1"), tool(pick, "a.txt")]).answer == "Done."
    assert results(agentflow.requests[-1]) == ["shown", "4", "a.txt"]


def test_an_equal_result_is_replayed_and_another_one_refused(agentflow: Kit) -> None:
    """By each door, while the turn waits for the others, and after it has ended."""
    show, pick = waiting(agentflow, *BOTH, then=[DONE])
    settle(agentflow, show, result="shown")
    for _ in range(2):
        before = agentflow.events()
        assert settle(agentflow, show, result="shown") == "replayed"
        assert agentflow.submit(append(tool(show))).replayed
        for late in (append(tool(show, "other")), append(tool(show, error=True))):
            with pytest.raises(CallAlreadyAnswered):
                agentflow.submit(late)
        with pytest.raises(CallAlreadyAnswered):
            settle(agentflow, show, result="other")
        assert agentflow.events() == before
        if agentflow.status()["pending"]:
            settle(agentflow, pick, result="a.txt")
            agentflow.result("t-1")


def test_an_error_and_a_result_of_the_same_words_are_two(agentflow: Kit) -> None:
    show, _ = waiting(agentflow, *BOTH)
    settle(agentflow, show, result="Error: no screen")
    with pytest.raises(CallAlreadyAnswered):
        settle(agentflow, show, error="no screen")


def test_two_results_of_one_call_in_one_request_are_one_or_none(agentflow: Kit) -> None:
    show, pick = waiting(agentflow, *BOTH, then=[DONE])
    with pytest.raises(CallAlreadyAnswered):
        agentflow.submit(append(tool(show, "one"), tool(show, "two")))
    assert len(agentflow.status()["calls"]) == 2
    assert agentflow.deliver(append(tool(show), tool(show), tool(pick))).answer == "Done."


@pytest.mark.parametrize("processes", [1, 2])
def test_of_the_last_two_results_at_once_one_lets_the_turn_go_on(agentflow: Kit, processes: int) -> None:
    """Exactly one new step, whoever comes second."""
    show, pick = waiting(agentflow, *BOTH, then=[DONE])
    other = agentflow.another_runtime() if processes == 2 else agentflow.runtime

    async def both() -> list[str]:
        given = await asyncio.gather(
            agentflow.runtime.settle("s-1", show, result="x"), other.settle("s-1", pick, result="y")
        )
        ended = [await runtime.result("s-1", "t-1") for runtime in (agentflow.runtime, other)]
        assert [result.answer for result in ended] == ["Done.", "Done."]
        return [each["outcome"] for each in given]

    assert agentflow.run(both()) == ["settled", "settled"]
    assert len(agentflow.session()["steps"]) == 2


def test_a_user_message_instead_stops_the_turn_and_begins_a_new_one(agentflow: Kit) -> None:
    show, _ = waiting(agentflow, *BOTH, then=[DONE])
    settle(agentflow, show, result="shown")
    result = agentflow.send("Never mind.")
    assert (result.answer, result.turn_id != "t-1") == ("Done.", True)
    assert agentflow.result("t-1").state == "aborted"
    placeholder = [message["content"] for message in agentflow.path() if message["role"] == "tool"][-1]
    assert "the client gave no result" in placeholder
    assert [text for role, text in said(agentflow.requests[-1]) if role == "user"] == ["Hi.", "Never mind."]


def test_a_view_with_words_instead_goes_on_below_the_placeholders(agentflow: Kit) -> None:
    waiting(agentflow, *BOTH, then=[DONE])
    path = agentflow.path()
    result = agentflow.view([*path[:2], {"id": "u-2", "role": "user", "content": "Never mind."}])
    assert (result.answer, agentflow.result("t-1").state) == ("Done.", "aborted")
    assert [message["id"] for message in agentflow.path()][: len(path)] == [message["id"] for message in path]


def test_words_after_the_results_follow_them_in_the_same_turn(agentflow: Kit) -> None:
    show, pick = waiting(agentflow, *BOTH, then=[DONE])
    words = {"role": "user", "content": "And be quick."}
    result = agentflow.view([*agentflow.path(), tool(show), tool(pick), words])
    assert (result.turn_id, result.answer) == ("t-1", "Done.")
    assert said(agentflow.requests[-1])[-1] == ("user", "And be quick.")


def test_words_after_some_of_the_results_keep_those(agentflow: Kit) -> None:
    show, _ = waiting(agentflow, *BOTH, then=[DONE])
    result = agentflow.deliver(append(tool(show), {"role": "user", "content": "Never mind."}))
    assert result.turn_id != "t-1"
    texts = [message["content"] for message in agentflow.path() if message["role"] == "tool"]
    assert texts[:2] == ["4", "shown"]
    assert "the client gave no result" in texts[2]


def test_what_does_not_belong_there_is_refused(agentflow: Kit) -> None:
    show, _ = waiting(agentflow, *BOTH)
    before = agentflow.events()
    for given in (append({"role": "assistant", "content": "x"}), append(tool("nothing")), append(tool(show, error=3))):
        with pytest.raises(InvalidInput):
            agentflow.submit(given)
    with pytest.raises(InvalidInput, match="error"):
        agentflow.submit(append({"role": "user", "content": "x", "error": True}))
    with pytest.raises(CallNotFound):
        settle(agentflow, "nothing", result=1)
    ran = next(e.data["id"] for e in agentflow.events("tool.call.requested") if e.data["name"] == "double")
    with pytest.raises(InvalidInput):
        settle(agentflow, ran, result=1)
    assert agentflow.events() == before


def test_a_result_before_the_pause_is_told_to_wait(agentflow: Kit) -> None:
    """The reply's other calls run first; until then nothing is taken."""
    gate = asyncio.Event()

    async def slow() -> str:
        """Wait."""
        await gate.wait()
        return "slow"

    agentflow.agent(tools=[SHOW, slow], replies=[reply(call("show", n=1), call("slow")), DONE])
    agentflow.submit({"type": "client.message", "turn_id": "t-1", "message": {"role": "user", "content": "Hi."}})
    show = str(agentflow.until("tool.call.requested").data["id"])
    with pytest.raises(TurnAlreadyActive):
        settle(agentflow, show, result="early")
    gate.set()
    assert agentflow.result("t-1").pending_kind == "tools"
    settle(agentflow, show, result="in time")
    assert agentflow.result("t-1").answer == "Done."


def test_what_left_the_path_or_was_stopped_is_ignored(agentflow: Kit) -> None:
    (show,) = waiting(agentflow, call("show", n=1), then=[DONE])
    agentflow.edit(agentflow.path()[0]["id"], "Something else.")
    before = agentflow.events()
    assert settle(agentflow, show, result="x") == "ignored"
    assert agentflow.events() == before
    nodes = agentflow.tree()["nodes"]
    asking = next(node["message"]["id"] for node in nodes if node["message"].get("tool_calls"))
    agentflow.run(agentflow.runtime.checkout("s-1", asking))
    assert agentflow.status()["pending_kind"] == "tools"
    agentflow.stop()
    assert settle(agentflow, show, result="x") == "ignored"
    assert agentflow.submit(append(tool(show))).replayed


def test_a_result_for_a_turn_on_another_branch_is_not_given_to_the_one_that_waits_here(agentflow: Kit) -> None:
    (first,) = waiting(agentflow, call("show", n=1), then=[reply(call("show", n=2)), DONE])
    assert agentflow.edit(agentflow.path()[0]["id"], "Something else.").pending_kind == "tools"
    (second,) = [each["tool_call_id"] for each in agentflow.status()["calls"]]
    assert settle(agentflow, first, result="of the first") == "ignored"
    assert [each["tool_call_id"] for each in agentflow.status()["calls"]] == [second]
    settle(agentflow, second, result="of the second")
    agentflow.result(agentflow.session()["steps"][-1]["turn_id"])
    assert results(agentflow.requests[-1]) == ["of the second"]


def test_what_comes_after_the_time_is_told_so(agentflow: Kit) -> None:
    (show,) = waiting(agentflow, call("show", n=1), then=[DONE], settings={"ask_user_expiry_secs": 60})
    agentflow.advance(60)
    for _ in range(2):
        with pytest.raises(QuestionExpired):
            settle(agentflow, show, result="x")
        with pytest.raises(QuestionExpired):
            agentflow.submit(append(tool(show)))
    assert agentflow.result("t-1").state == "aborted"
    assert agentflow.send("Go on.").answer == "Done."


def test_a_queue_waits_until_the_results_have_come(agentflow: Kit) -> None:
    """C28: queued messages are no results and no words instead."""
    (show,) = waiting(agentflow, call("show", n=1), then=[DONE, {"text": "Later."}])
    message = {"role": "user", "content": "later"}
    queued = agentflow.submit({"type": "client.message", "message": message, "queue": True})
    assert (queued.queued, agentflow.status()["pending"]) == (True, True)
    settle(agentflow, show, result="x")
    assert [agentflow.result(turn).answer for turn in ("t-1", queued.turn_id)] == ["Done.", "Later."]


def test_a_result_that_is_too_long_is_cut_and_kept_whole(agentflow: Kit, agentflow_db: str) -> None:
    agentflow.agent(tools=[{**SHOW, "max_result_chars": 100}], replies=[reply(call("show", n=1)), DONE])
    agentflow.send("Hi.", turn_id="t-1")
    (show,) = [each["tool_call_id"] for each in agentflow.status()["calls"]]
    settle(agentflow, show, result="x" * 500)
    agentflow.result("t-1")
    (text,) = results(agentflow.requests[-1])
    assert len(text) <= 100
    assert rows(agentflow_db, "SELECT length(full_result) FROM tool_call") == [(500,)]
    assert settle(agentflow, show, result="x" * 500) == "replayed"


def hooked(call: dict[str, Any], arguments: dict[str, Any]) -> dict[str, Any] | None:
    """Change one call and deny another."""
    return {"show": {"arguments": {"n": 7}}, "pick": {"deny": "not now"}}.get(call["name"])


def test_hooks_stand_before_the_client(agentflow: Kit) -> None:
    """T36: what a pre_tool hook changes is what the client is told, here and in every other process."""
    agentflow.agent(tools=[SHOW, double, PICK], hooks={"pre_tool": [hooked]}, replies=[reply(*BOTH)])
    told = agentflow.send("Hi.").calls
    agentflow.restart()
    assert [each["arguments"] for each in told] == [{"n": 7}]
    assert agentflow.status()["calls"] == agentflow.events("client_tools")[0].data["calls"] == list(told)


def delegating(kit: Kit, then: list[Reply]) -> str:
    """A turn that was handed over, and whose sub-agent waits for its client; the id of the call."""
    kit.agent("sub", tools=[SHOW, double], replies=[reply(call("show", n=1), call("double", n=2)), *then])
    kit.agent("main", sub_agents=["sub"], replies=[reply(call("delegate", agent="sub", message="a note"))])
    assert kit.send("Hi.", turn_id="t-1").pending_kind == "tools"
    (show,) = kit.status()["calls"]
    return str(show["tool_call_id"])


@pytest.mark.parametrize("door", ["settle", "append", "view"])
def test_the_calls_of_a_delegated_agent_pause_the_whole_turn(agentflow: Kit, agentflow_db: str, door: str) -> None:
    show = delegating(agentflow, [DONE])
    agentflow.restart()
    if door == "settle":
        settle(agentflow, show, result="shown")
    elif door == "append":
        agentflow.submit(append(tool(show, id="m-1")))
    else:
        agentflow.view([*agentflow.path(), tool(show, id="m-1")])
    assert agentflow.result("t-1").answer == "Done."
    assert results(agentflow.requests_of("sub")[-1]) == ["shown", "4"]
    assert rows(agentflow_db, "SELECT DISTINCT status FROM execution") == [("DONE",)]
    told = {e.data["id"]: e.data.get("execution") for e in agentflow.events("tool.call.completed")}
    assert told[show] == 2  # the sub-agent's, as of its other calls
    assert settle(agentflow, show, result="shown") == "replayed"
    path = agentflow.path()
    shown = [] if door == "settle" else [tool(show, id="m-1")]
    assert agentflow.view([*path[:2], *shown, *path[2:]]).answer == "Done."


def test_a_sub_agents_calls_and_then_its_question(agentflow: Kit) -> None:
    """T20: one turn may pause for its client and for its user, one after the other."""
    show = delegating(agentflow, [reply(ASK), DONE])
    settle(agentflow, show, result="shown")
    assert agentflow.result("t-1").pending_kind == "questions"
    assert agentflow.answer("this one").answer == "Done."


@pytest.mark.parametrize("commits", range(1, 4))
def test_a_kill_after_any_commit_leaves_a_session_that_goes_on(agentflow: Kit, agentflow_db: str, commits: int) -> None:
    """T30: what was acknowledged is kept, each call has one result."""
    agentflow.agent(tools=[SHOW, double, PICK], replies=lambda request: DONE if results(request) else reply(*BOTH))
    agentflow.send("Hi.", turn_id="t-1")
    show, pick = [each["tool_call_id"] for each in agentflow.status()["calls"]]
    agentflow.kill_after(commits)
    try:
        settle(agentflow, show, result="shown")
        settle(agentflow, pick, result="a.txt")
        agentflow.result("t-1")
    except ProcessKilled:
        agentflow.reopen()
    texts = [message["content"] for message in agentflow.path() if message["role"] == "tool"]
    assert texts[:2] == ["4", "shown"]
    if agentflow.status()["pending"]:
        assert settle(agentflow, show, result="shown") == "replayed"
        settle(agentflow, pick, result="a.txt")
        assert agentflow.result("t-1").answer == "Done."
    assert agentflow.send("Go on.").state in ("done", "paused_ask_user")
    answered = [message["tool_call_id"] for message in agentflow.path() if message["role"] == "tool"]
    assert len(answered) == len(set(answered))
