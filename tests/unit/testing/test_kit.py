"""The kit itself: what a test of an agent may rely on."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from agentflow import FlowContext, InvalidInput, flow
from agentflow.testing import Kit, ProcessKilled
from tests.scenarios.support import Gate


def greet(name: str) -> str:
    """Greet."""
    return f"hello {name}"


GREETS = [{"tool_calls": [{"name": "greet", "arguments": {"name": "Ann"}}]}, {"text": "{{ last_tool }}"}]
HELLO = {"type": "client.message", "message": {"role": "user", "content": "hello"}}


def test_a_test_reads_like_a_conversation(agentflow: Kit) -> None:
    agentflow.agent(tools=[greet], replies=GREETS)
    assert agentflow.send("Greet Ann.").answer == "hello Ann"
    assert [message["role"] for message in agentflow.path()] == ["user", "assistant", "tool", "assistant"]
    assert len(agentflow.requests) == 2
    assert agentflow.usage()["turns"] == 1
    assert agentflow.status()["status"] == "idle"
    assert agentflow.tree()["head_id"] == agentflow.path()[-1]["id"]
    assert [event.data["answer"] for event in agentflow.events("done")] == ["hello Ann"]


def test_ids_and_times_are_the_same_in_every_run(agentflow: Kit) -> None:
    agentflow.agent(replies=[{"text": "ok"}])
    assert agentflow.send("hi").turn_id == "id-0001"
    assert [message["id"] for message in agentflow.path()] == ["id-0002", "id-0003"]
    assert agentflow.session()["created_at"] == "2030-01-01T09:00:00.000000+00:00"


def test_time_stands_still_and_moves_by_advance(agentflow: Kit) -> None:
    before = time.time()
    assert time.time() == before
    agentflow.advance(3600)
    assert time.time() == before + 3600
    agentflow.advance(-60)
    assert time.time() == before + 3540


def test_waiting_is_real_under_frozen_time(agentflow: Kit) -> None:
    """T38: waiting uses the event loop's own clock."""
    assert agentflow.run(asyncio.wait_for(asyncio.sleep(0.001, "waited"), timeout=5)) == "waited"


def test_nothing_runs_between_two_calls(agentflow: Kit) -> None:
    agentflow.agent(replies=[{"text": "ok"}])
    receipt = agentflow.submit(HELLO)
    commits = agentflow.commits
    time.sleep(0)
    assert agentflow.commits == commits
    assert agentflow.result(receipt.turn_id).answer == "ok"


def test_until_lets_things_run_up_to_an_event(agentflow: Kit) -> None:
    agentflow.agent(tools=[greet], replies=GREETS)
    receipt = agentflow.submit(HELLO)
    assert agentflow.until("tool.call.completed").data["result"] == "hello Ann"
    assert agentflow.result(receipt.turn_id).answer == "hello Ann"


def test_a_new_script_replaces_the_old_one(agentflow: Kit) -> None:
    agentflow.agent(replies=lambda request: {"text": "old"})
    assert agentflow.send("hi").answer == "old"
    agentflow.script([{"text": "new"}])
    assert agentflow.send("hi").answer == "new"


def test_an_agent_of_a_project_is_loaded_as_its_files_are(agentflow: Kit, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    (mine / "agents" / "greeter").mkdir(parents=True)
    (mine / "workflows").mkdir()
    (mine / "workflows" / "greeting.py").write_text(
        'def greet(name: str) -> str:\n    """Greet."""\n    return name * 2\n'
    )
    (mine / "agents" / "greeter" / "agent.yaml").write_text(
        "version: 1\nname: greeter\nmodel: openai/gpt-4o\nprompt: Greet people.\ntools: [greet]\n"
    )
    agentflow.load(mine, "greeter")
    agentflow.script(GREETS)
    assert agentflow.send("Greet Ann.").answer == "AnnAnn"
    assert agentflow.requests[0].messages[0] == {"role": "system", "content": "Greet people."}
    assert not (mine / "agentflow.db").exists()


def test_leftovers_are_counted_by_agent(agentflow: Kit) -> None:
    agentflow.agent("a", replies=[{"text": "1"}, {"text": "2"}, {"text": "3", "repeat": True}])
    agentflow.send("hi")
    assert agentflow.leftovers() == ["agent 'a': 1 scripted replies were not used"]
    agentflow.send("hi")
    assert agentflow.leftovers() == []


def test_tools_may_be_named_functions_entries_and_flows_of_another_name(agentflow: Kit) -> None:
    @flow(name="SaveNote")
    def save(ctx: FlowContext, text: str) -> str:
        """Save."""
        return f"{ctx.session_id}: {text}"

    asked = [{"name": "SaveNote", "arguments": {"text": "x"}}, {"name": "hello", "arguments": {"name": "Bo"}}]
    agentflow.agent(tools=[save, {"flow": greet, "name": "hello"}], replies=[{"tool_calls": asked}, {"text": "ok"}])
    agentflow.send("hi")
    assert {event.data["result"] for event in agentflow.events("tool.call.completed")} == {"s-1: x", "hello Bo"}


def test_an_agent_written_later_may_bring_new_tools(agentflow: Kit) -> None:
    agentflow.agent(replies=[{"text": "ok"}])
    agentflow.send("hi")
    agentflow.agent(tools=[greet], replies=GREETS)
    assert agentflow.send("Greet Ann.").answer == "hello Ann"


def test_a_restart_keeps_what_is_stored_and_the_place_in_the_script(agentflow: Kit) -> None:
    agentflow.agent(replies=[{"text": "1"}, {"text": "2"}])
    agentflow.send("hi")
    agentflow.restart()
    assert agentflow.send("hi").answer == "2"


@pytest.mark.parametrize("commits", [1, 2, 3])
def test_a_process_killed_at_a_commit_has_written_that_much_and_no_more(agentflow: Kit, commits: int) -> None:
    """T11: claim, reply, result, end."""
    agentflow.agent(tools=[greet], replies=GREETS)
    agentflow.kill_after(commits)
    with pytest.raises(ProcessKilled, match=f"right after commit {commits}"):
        agentflow.send("Greet Ann.")
    with pytest.raises(ProcessKilled, match="reopen"):
        agentflow.status()
    agentflow.reopen()
    assert agentflow.status()["status"] == "aborted"
    assert len(agentflow.path()) == commits
    agentflow.script([{"text": "back"}])
    assert agentflow.send("Are you there?").answer == "back"
    assert agentflow.leftovers() == []


def test_a_kill_counts_from_now_and_one_that_is_never_reached_is_none(agentflow: Kit) -> None:
    agentflow.agent(replies=lambda request: {"text": "ok"})
    agentflow.send("hi")
    agentflow.kill_after(3)
    assert agentflow.send("hi").answer == "ok"
    with pytest.raises(ProcessKilled):
        agentflow.send("hi")
    agentflow.reopen()
    assert agentflow.send("hi").answer == "ok"


def test_a_process_killed_where_it_stands_writes_no_last_word(agentflow: Kit) -> None:
    async def hang() -> str:
        """Hang."""
        await asyncio.Event().wait()
        return ""

    agentflow.agent(tools=[hang], replies=[{"tool_calls": [{"name": "hang"}]}, {"text": "back"}])
    agentflow.submit(HELLO)
    agentflow.until("tool.call.requested")
    agentflow.kill()
    agentflow.reopen()
    assert agentflow.status()["status"] == "aborted"
    assert [message["role"] for message in agentflow.path()] == ["user", "assistant"]
    assert agentflow.send("Are you there?").answer == "back"


def test_a_stop_ends_the_turn_that_runs(agentflow: Kit) -> None:
    agentflow.agent(replies=Gate())
    receipt = agentflow.submit(HELLO)
    agentflow.until("llm.call.requested")
    assert agentflow.stop()["outcome"] == "stopped"
    assert agentflow.result(receipt.turn_id).state == "aborted"


def test_an_answer_resumes_the_paused_turn(agentflow: Kit) -> None:
    question = {"header": "Plan", "question": "Which plan?", "options": [{"label": "Pro"}, {"label": "Free"}]}
    asked = {"name": "ask_user", "arguments": {"questions": [question]}}
    agentflow.agent(
        replies=[{"tool_calls": [asked]}, {"text": "{{ last_tool }}"}, {"tool_calls": [asked]}, {"text": "ok"}]
    )
    assert agentflow.send("Sign me up.").state == "paused_ask_user"
    assert agentflow.answer(answers={"Plan": ["Pro"]}).answer == "Plan: Pro"
    agentflow.send("Change it.")
    assert agentflow.answer("whatever").answer == "ok"


def test_edit_regenerate_and_switch_walk_the_tree(agentflow: Kit) -> None:
    agentflow.agent(replies=[{"text": f"a{number}"} for number in range(1, 6)])
    agentflow.send("u1")
    agentflow.send("u2")
    first, answer, second, last = (message["id"] for message in agentflow.path())
    assert agentflow.switch(answer).answer == "a1"
    assert agentflow.regenerate().answer == "a3"
    assert [message["content"] for message in agentflow.path()] == ["u1", "a3"]
    assert agentflow.edit(first, "u1 instead").answer == "a4"
    assert agentflow.switch(last).answer == "a2"
    assert agentflow.edit(second, "u2 instead").answer == "a5"
    assert [message["content"] for message in agentflow.path()] == ["u1", "a1", "u2 instead", "a5"]


# -- workers, results from outside, everything at rest ----------------------------------------------------------------


async def polite(request: dict[str, Any]) -> Any:
    """A worker that ends every turn itself."""
    await asyncio.sleep(0)
    if request["trigger"]["type"] != "client.messages":
        return request["proposed"]
    return {"actions": [{"type": "done", "data": "at your service"}]}


def test_a_worker_is_a_function_and_another_one_from_the_next_time_it_is_written(agentflow: Kit) -> None:
    seen: list[str] = []

    def takes_note(request: dict[str, Any]) -> Any:
        seen.append(request["trigger"]["type"])
        return request["proposed"]

    agentflow.agent(replies=[{"text": "ok"}], worker=takes_note)
    assert agentflow.send("hi").answer == "ok"
    assert seen == ["session.start", "client.messages", "llm.finished", "turn.finished"]
    agentflow.agent(worker=polite)
    assert agentflow.send("hi").data == "at your service"
    assert len(seen) == 4


def test_each_agent_has_its_own_worker(agentflow: Kit) -> None:
    agentflow.agent("first", worker=polite)
    agentflow.agent("second", replies=[{"text": "ok"}], worker=lambda request: request["proposed"])
    assert agentflow.send("hi", agent_id="first").data == "at your service"
    assert agentflow.send("hi", "s-2", agent_id="second").answer == "ok"


WEIGHS: dict[str, Any] = {
    "handler": "client",
    "name": "weigh",
    "description": "Weigh.",
    "parameters": {"type": "object"},
}
WEIGHED = [{"tool_calls": [{"name": "weigh"}]}, {"text": "{{ last_tool }} kg"}]


def test_a_call_that_is_left_to_the_client_is_settled_and_its_turn_goes_on(agentflow: Kit) -> None:
    """C39"""
    agentflow.agent(tools=[WEIGHS], replies=WEIGHED)
    assert agentflow.send("How heavy?").state == "paused_ask_user"
    assert agentflow.settle(3)["outcome"] == "settled"
    agentflow.until_idle()
    assert [event.data["answer"] for event in agentflow.events("done")] == [None, "3 kg"]


def test_until_idle_lets_running_and_waiting_turns_of_every_session_end(agentflow: Kit) -> None:
    agentflow.agent(replies=lambda request: {"text": "ok"})
    agentflow.submit(HELLO)
    agentflow.submit({**HELLO, "queue": True})
    agentflow.submit(HELLO, "s-2")
    agentflow.run(agentflow.runtime.submit("s-3", {**HELLO, "agent_id": "test"}))
    agentflow.until_idle()
    for session, turns in (("s-1", 2), ("s-2", 1), ("s-3", 1)):
        assert agentflow.status(session)["status"] == "idle"
        assert agentflow.usage(session)["turns"] == turns


def test_until_idle_leaves_a_question_and_what_waits_behind_it(agentflow: Kit) -> None:
    question = {"header": "Plan", "question": "Which plan?"}
    asked = {"name": "ask_user", "arguments": {"questions": [question]}}
    agentflow.agent(replies=[{"tool_calls": [asked]}, {"text": "ok", "repeat": True}])
    agentflow.send("Sign me up.")
    agentflow.submit({**HELLO, "queue": True})
    agentflow.until_idle()
    assert (agentflow.status()["pending"], agentflow.status()["queued"]) == (True, 1)
    agentflow.answer("Pro")
    agentflow.until_idle()
    assert agentflow.status()["queued"] == 0


def test_a_checkout_moves_the_head_and_runs_no_turn(agentflow: Kit) -> None:
    """C2"""
    agentflow.agent(replies=[{"text": "a1"}, {"text": "a2"}])
    agentflow.send("u1")
    agentflow.send("u2")
    first_answer = agentflow.path()[1]["id"]
    assert agentflow.checkout(first_answer)["head_id"] == first_answer
    assert [message["content"] for message in agentflow.path()] == ["u1", "a1"]
    assert len(agentflow.requests) == 2


def test_a_stub_answers_in_place_of_a_flow(agentflow: Kit) -> None:
    agentflow.agent(tools=[greet], replies=[*GREETS, *GREETS])
    agentflow.stub("greet", "stubbed", when={"name": "Ann"})
    assert agentflow.send("Greet Ann.").answer == "stubbed"
    agentflow.stub("greet", error="Nobody is there.")
    assert "Nobody is there." in (agentflow.send("Greet Ann.").answer or "")


def test_a_claim_of_events_that_fails_shows_the_short_trace(agentflow: Kit) -> None:
    agentflow.agent(tools=[greet], replies=GREETS)
    agentflow.send("Greet Ann.")
    agentflow.assert_events("turn.started", ("tool.call.completed", {"result": "hello Ann"}), "done")
    agentflow.assert_no_event("done", {"answer": "hello Bo"})
    with pytest.raises(AssertionError, match=r"turn.started did not happen after done(.|\n)* done +hello Ann"):
        agentflow.assert_events("done", "turn.started")
    with pytest.raises(AssertionError, match=r"tool.call.completed happened(.|\n)* done +hello Ann"):
        agentflow.assert_no_event("tool.call.completed")


def test_a_tree_is_read_as_text(agentflow: Kit) -> None:
    agentflow.agent(replies=[{"text": "a1"}, {"text": "a2"}])
    agentflow.send("u1")
    agentflow.regenerate()
    assert agentflow.tree_text().splitlines() == [
        "| id-0002  user: u1", "    id-0003  assistant: a1", "*   id-0005  assistant: a2",
    ]  # fmt: skip


def test_what_was_said_can_be_said_again(agentflow: Kit) -> None:
    agentflow.agent(tools=[greet], replies=GREETS)
    go_back = agentflow.mark()
    assert agentflow.send("Greet Ann.").answer == "hello Ann"
    go_back()
    assert agentflow.send("Greet Ann.", "s-2").answer == "hello Ann"


# -- async tests -------------------------------------------------------------------------------------------------------


async def test_an_async_test_runs_on_the_kits_loop(agentflow: Kit) -> None:
    agentflow.agent(replies=[{"text": "ok"}])
    result = await agentflow.runtime.run("s-1", "test", "hi")
    assert (result.answer, result.turn_id) == ("ok", "id-0001")
    assert [event.type async for event in agentflow.runtime.events("s-1", turn_id="id-0001")][-1] == "done"
    agentflow.advance(60)
    assert (await agentflow.runtime.session("s-1"))["created_at"] == "2030-01-01T09:00:00.000000+00:00"


async def test_what_lets_the_loop_run_says_in_an_async_test_what_to_write(agentflow: Kit) -> None:
    agentflow.agent(replies=[{"text": "ok", "repeat": True}])
    with pytest.raises(InvalidInput, match=r"await agentflow\.runtime\.run"):
        agentflow.send("hi")
    with pytest.raises(InvalidInput, match=r"await agentflow\.runtime\.run"):
        agentflow.restart()
    assert (await agentflow.runtime.run("s-1", "test", "hi")).answer == "ok"
