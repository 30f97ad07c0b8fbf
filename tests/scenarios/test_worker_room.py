"""The worker and the room: `context.limit`, the summary it sees, `context.replace` from any decision (X12-X19)."""

from __future__ import annotations

from typing import Any

import pytest

from agentflow.testing import Kit
from tests.scenarios.rooms import FILLER, OPENING, answering, assert_paired, capitals, chatty, of_purpose, over, phases
from tests.scenarios.support import call, results, rows, said
from tests.scenarios.test_worker import Recorder, proposal


def limited(kit: Kit, recorder: Recorder, **keys: Any) -> Any:
    """Two large turns and a third that needs room; its result."""
    kit.agent(replies=answering(capitals, chatty), worker=recorder, **({"context": over(700)} | keys))
    kit.send(f"FIRST {FILLER}")
    kit.send(f"SECOND {FILLER}")
    return kit.send("third")


def triggers(recorder: Recorder) -> list[str]:
    return [request["trigger"]["type"] for request in recorder.requests]


def of_trigger(recorder: Recorder, kind: str) -> list[dict[str, Any]]:
    return [request for request in recorder.requests if request["trigger"]["type"] == kind]


def test_a_worker_that_takes_the_proposals_changes_nothing(agentflow: Kit) -> None:
    """X12, X13: the held call, then the summary, are proposed; taken, it is as without a worker."""
    recorder = Recorder()
    assert limited(agentflow, recorder).answer.startswith("answer in turn 3")
    assert phases(agentflow) == ["full", "replaced"]
    (asked,) = of_trigger(recorder, "context.limit")
    trigger = asked["trigger"]
    assert (trigger["reason"], trigger["strategy"]) == ("full", "summarize")
    assert "window" not in trigger
    assert trigger["call"]["id"] == agentflow.requests[-1].call_id
    assert trigger["call"]["request"]["messages"][-1] == {"role": "user", "content": "third"}
    assert asked["proposed"]["actions"] == [{"type": "llm.call", "purpose": "summary", "stream": False}]
    summaries = [each for each in of_trigger(recorder, "llm.finished") if each["trigger"]["purpose"] == "summary"]
    replace, held = summaries[0]["proposed"]["actions"]
    assert replace["summary"] == "Code words: FIRST, SECOND"
    assert [message["content"] for message in replace["messages"]] == ["third"]
    assert held == {"type": "llm.call", "id": trigger["call"]["id"]}
    assert said(agentflow.requests[-1])[1][1].startswith(OPENING)


def test_a_held_call_that_the_worker_runs_is_not_held_again(agentflow: Kit) -> None:
    """Seed: "An llm.call with its id runs it again. The engine does not hold it a second time" (ctx-010)."""
    recorder = Recorder(
        context_limit=lambda request: {"actions": [{"type": "llm.call", "id": request["trigger"]["call"]["id"]}]}
    )
    assert limited(agentflow, recorder).state == "done"
    assert triggers(recorder).count("context.limit") == 1
    assert phases(agentflow) == ["full", "declined"]
    held = of_trigger(recorder, "context.limit")[0]["trigger"]["call"]["id"]
    assert agentflow.requests[-1].call_id == held
    assert of_purpose(agentflow.requests, "summary") == []


def test_a_worker_may_give_the_held_call_messages_of_its_own(agentflow: Kit) -> None:
    """X14: sent verbatim."""
    short = [{"role": "user", "content": "in short: third"}]
    recorder = Recorder(
        context_limit=lambda request: {
            "actions": [{"type": "llm.call", "id": request["trigger"]["call"]["id"], "messages": short}]
        }
    )
    limited(agentflow, recorder)
    assert said(agentflow.requests[-1]) == [("user", "in short: third")]


@pytest.mark.parametrize(
    ("actions", "state"),
    [([{"type": "done"}], "done"), ([{"type": "fail", "error": "too expensive"}], "failed"), ([], "done")],
)
def test_a_worker_may_end_the_turn_instead(agentflow: Kit, actions: list[dict[str, Any]], state: str) -> None:
    """X14: the held call is recorded as given up, nothing is left open."""
    recorder = Recorder(context_limit=lambda request: {"actions": actions})
    assert limited(agentflow, recorder).state == state
    opened = [event.data["call_id"] for event in agentflow.events("llm.call.requested")]
    ended = [event.data["call_id"] for event in agentflow.events("llm.call.completed", "llm.call.errored")]
    assert sorted(opened) == sorted(ended)
    assert len(of_purpose(agentflow.requests, "main")) == 2
    assert agentflow.send("and then").state in ("done", "failed")


def test_a_worker_may_make_room_its_own_way(agentflow: Kit) -> None:
    """X14: context.replace and llm.call."""

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        last = request["messages"][-1]
        return {
            "actions": [
                {"type": "context.replace", "summary": "Sam logs naps.", "messages": [last]},
                {"type": "llm.call"},
            ]
        }

    recorder = Recorder(context_limit=answer)
    assert limited(agentflow, recorder).state == "done"
    request = agentflow.requests[-1]
    assert said(request)[1][1].endswith("Sam logs naps.")
    assert said(request)[2:] == [("user", "third")]
    assert phases(agentflow) == ["full", "replaced"]
    assert of_purpose(agentflow.requests, "summary") == []


def test_a_refused_summary_proposes_the_held_call_alone(agentflow: Kit) -> None:
    """X15; seed: "When the summary call fails, the engine proposes call as it was"."""
    recorder = Recorder()
    agentflow.agent(replies=answering(lambda request: {"text": " "}, chatty), context=over(900), worker=recorder)
    for text in ("FIRST", "SECOND", "third"):
        agentflow.send(f"{text} {FILLER}")
    summary = next(each for each in of_trigger(recorder, "llm.finished") if each["trigger"]["purpose"] == "summary")
    assert [action["type"] for action in summary["proposed"]["actions"]] == ["llm.call"]
    assert phases(agentflow)[:2] == ["full", "blank"]


def test_state_and_config_carry_over_to_the_new_branch(agentflow: Kit) -> None:
    """Seed: "The worker's state and the config carry over to the new branch"; back on the old one it is the old."""
    recorder = Recorder(client_messages=lambda request: {**request["proposed"], "state": {"babies": 1}})
    limited(agentflow, recorder)
    agentflow.restart()
    agentflow.send("fourth")
    assert recorder.requests[-1]["state"] == {"babies": 1}


def test_any_decision_may_replace_the_history(agentflow: Kit, agentflow_db: str) -> None:
    """Seed: "Any decision can return context.replace. Use it to reset on a deploy" (ctx-016)."""
    fresh = [{"role": "user", "content": "fresh"}, {"id": "n7", "role": "assistant", "content": "ok"}]

    def at_end(request: dict[str, Any]) -> Any:
        if request["messages"][-1]["content"] == "ok":
            return request["proposed"]
        return {"actions": [{"type": "context.replace", "messages": fresh}]}

    recorder = Recorder(turn_finished=at_end)
    agentflow.agent(replies=chatty, worker=recorder)
    agentflow.send("weather in NYC?")
    path = agentflow.path()
    assert [(message["role"], message["content"]) for message in path] == [("user", "fresh"), ("assistant", "ok")]
    assert path[1]["id"] == "n7"
    assert rows(agentflow_db, "SELECT count(*) FROM message WHERE copied_from IS NOT NULL") == [(0,)]
    done = agentflow.events("context.replaced")[0].data
    assert (done["summary"], done["kept"], done["copied"], done["head_id"]) == (None, 2, 0, "n7")


def test_recorded_messages_become_copies_and_an_llm_call_reads_them(agentflow: Kit) -> None:
    """Seed: "A message with a recorded id becomes a copy" ; "An llm.call without messages after the replace reads
    the new history"; X18: also from another branch."""

    def answer(request: dict[str, Any]) -> Any:
        if "reset" not in str(request["messages"][-1]["content"]):
            return request["proposed"]
        kept, go = request["messages"][:2], {"role": "user", "content": "go"}
        return {
            "messages": request["messages"],
            "actions": [{"type": "context.replace", "summary": "S", "messages": [*kept, go]}, {"type": "llm.call"}],
        }

    agentflow.agent(replies=chatty, worker=Recorder(client_messages=answer))
    agentflow.send("one")
    first = agentflow.path()
    agentflow.send("two")
    agentflow.send("reset please")
    assert [text.split()[0] for _, text in said(agentflow.requests[-1])[1:]] == ["The", "one", "answer", "go"]
    copies = [node for node in agentflow.tree()["nodes"] if node["copied_from"]]
    assert [copy["copied_from"] for copy in copies] == [message["id"] for message in first]
    assert_paired(agentflow.requests[-1])


def test_an_empty_replace_empties_the_history(agentflow: Kit) -> None:
    """X18."""
    recorder = Recorder(
        turn_finished=lambda request: {"actions": [{"type": "context.replace"}]} if request["messages"] else {}
    )
    agentflow.agent(replies=chatty, worker=recorder)
    agentflow.send("one")
    assert agentflow.path() == []
    agentflow.send("two")
    assert said(agentflow.requests[-1])[1:] == [("user", "two")]


def test_a_replace_whose_messages_split_an_exchange_is_refused(agentflow: Kit) -> None:
    """X19: the turn fails with a clear error, nothing of it is recorded."""
    split = [{"role": "tool", "tool_call_id": "c1", "content": "result"}]
    recorder = Recorder(turn_finished=lambda request: {"actions": [{"type": "context.replace", "messages": split}]})
    agentflow.agent(replies=chatty, worker=recorder)
    result = agentflow.send("one")
    assert result.state == "failed"
    assert result.error is not None
    assert "splits an exchange" in result.error["message"]
    assert len(agentflow.path()) == 2


def test_calls_in_flight_off_the_new_path_are_voided(agentflow: Kit, agentflow_db: str) -> None:
    """X19, C20 (ctx-017): their results come too late."""

    def fast() -> str:
        """Fast."""
        return "fast"

    def slow() -> str:
        """Slow, and somebody else's."""
        raise AssertionError("never run here")

    def answer(request: dict[str, Any]) -> Any:
        return {"actions": [{"type": "context.replace", "summary": "S", "messages": []}, {"type": "llm.call"}]}

    agentflow.agent(
        tools=[fast, {"flow": slow, "handler": "worker"}],
        replies=[{"tool_calls": [call("slow"), call("fast")]}, {"text": "anew"}],
        worker=Recorder(tool_finished=answer),
    )
    assert agentflow.send("go").answer == "anew"
    assert "slow" in [event.data["name"] for event in agentflow.events("call.voided")]
    assert rows(agentflow_db, "SELECT status FROM tool_call WHERE name = 'slow'") == [("voided",)]
    assert results(agentflow.requests[-1]) == []
    assert_paired(agentflow.requests[-1])


def test_an_overflow_asks_the_worker_too(agentflow: Kit) -> None:
    """Seed: "The engine then asks with reason: "overflow" and a summary in proposed" (ctx-012)."""
    recorder = Recorder()
    refusals = [{"error": {"kind": "context_overflow"}}]
    agentflow.agent(
        replies=answering(
            capitals,
            lambda request: (
                refusals.pop() if request.messages[-1]["content"] == "last" and refusals else chatty(request)
            ),
        ),
        worker=recorder,
    )
    agentflow.send(f"FIRST {FILLER}")
    assert agentflow.send("last").state == "done"
    (asked,) = of_trigger(recorder, "context.limit")
    assert asked["trigger"]["reason"] == "overflow"
    assert asked["proposed"]["actions"][0]["purpose"] == "summary"
    assert phases(agentflow) == ["overflow", "replaced"]


def test_a_worker_that_only_listens_hears_of_no_room_when_there_is_enough(agentflow: Kit) -> None:
    recorder = Recorder()
    agentflow.agent(replies=chatty, worker=recorder, context=over(100_000))
    agentflow.send("one")
    assert "context.limit" not in triggers(recorder)
    assert proposal(recorder.requests[0]) == recorder.requests[0]["proposed"]
