"""A turn has many names, and each means it everywhere: answers', merged submits', moves' (C19, C22)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from agentflow import Event, InvalidInput, TurnAlreadyActive, TurnNotFound
from agentflow.testing import Kit
from tests.scenarios.support import Gate, call

ASKS = {"tool_calls": [call("ask_user", questions=[{"header": "Size", "question": "Which size?"}])]}


def say(text: str, **fields: Any) -> dict[str, Any]:
    message = {"id": f"m-{text}", "role": "user", "content": text}
    return {"type": "client.message", "agent_id": "test", "message": message, **fields}


def events_of(kit: Kit, turn_id: str, after_seq: int = 0) -> list[Event]:
    async def read() -> list[Event]:
        return [event async for event in kit.runtime.events("s-1", after_seq, turn_id)]

    return kit.run(read())


def answered(kit: Kit) -> tuple[str, str]:
    """The turn's own id, and the one of the request that answered it."""
    kit.agent(replies=[ASKS, {"text": "ok"}])
    kit.deliver(say("go", turn_id="t-1"))
    kit.deliver(say("L", turn_id="mine"))
    return "t-1", "mine"


def merged(kit: Kit) -> tuple[str, str]:
    """The turn's own id, and the one of a submit that was merged into it."""
    gate = Gate({"text": "first"}, {"text": "ok"})
    kit.agent(replies=gate)
    kit.submit(say("first"))
    kit.submit(say("one", queue="merge", turn_id="t-1"))
    kit.submit(say("two", queue="merge", turn_id="mine"))
    gate.open()
    kit.result("t-1")
    return "t-1", "mine"


WAYS = pytest.mark.parametrize("named", [answered, merged])
Named = Callable[[Kit], tuple[str, str]]


@WAYS
@pytest.mark.parametrize("elsewhere", [False, True], ids=["here", "in another process"])
def test_every_read_takes_either_name(agentflow: Kit, named: Named, elsewhere: bool) -> None:
    """D06, D07: the same result, the same events, up to the turn's own `done` and no other."""
    own, other = named(agentflow)
    if elsewhere:
        agentflow.restart()
    assert agentflow.result(other) == agentflow.result(own)
    assert events_of(agentflow, other) == events_of(agentflow, own)
    last = events_of(agentflow, other)[-1]
    assert (last.type, last.turn_id, last.data["answer"]) == ("done", own, "ok")
    assert last.seq is not None


@WAYS
def test_every_request_is_replayed_by_either_name(agentflow: Kit, named: Named) -> None:
    own, other = named(agentflow)
    before = agentflow.events()
    for name in (own, other):
        receipt = agentflow.submit(say("anything", turn_id=name))
        assert (receipt.turn_id, receipt.replayed, receipt.queued) == (own, True, False)
        moved = agentflow.submit({"type": "head.move", "message_id": "m-go", "turn_id": name})
        assert (moved.turn_id, moved.replayed) == (own, True)
        assert agentflow.stop(turn_id=name)["outcome"] == "nothing_to_stop"
    assert agentflow.events() == before


def test_the_replay_of_an_answer_begins_where_the_answer_did(agentflow: Kit) -> None:
    agentflow.agent(replies=[ASKS, {"text": "ok"}])
    agentflow.deliver(say("go", turn_id="t-1"))
    first = agentflow.submit(say("L", turn_id="mine"))
    agentflow.result("mine")
    again = agentflow.submit(say("L", turn_id="mine"))
    assert (again.turn_id, again.after_seq) == ("t-1", first.after_seq)
    assert [event.type for event in events_of(agentflow, "mine", again.after_seq)][-1] == "done"


def test_a_running_turn_is_stopped_by_the_name_of_the_answer_it_runs_for(agentflow: Kit) -> None:
    gate = Gate({"text": "never"})

    async def reply(request: Any) -> dict[str, Any]:
        return ASKS if len(agentflow.requests) == 1 else await gate(request)

    agentflow.agent(replies=reply)
    agentflow.deliver(say("go", turn_id="t-1"))
    agentflow.submit(say("L", turn_id="mine"))
    stopped = agentflow.stop(turn_id="mine")
    assert (stopped["turn_id"], stopped["outcome"]) == ("t-1", "stopped")


def test_a_waiting_turn_is_taken_back_by_the_name_of_a_submit_merged_into_it(agentflow: Kit) -> None:
    gate = Gate({"text": "first"})
    agentflow.agent(replies=gate)
    agentflow.submit(say("first", turn_id="t-0"))
    agentflow.submit(say("one", queue="merge", turn_id="t-1"))
    agentflow.submit(say("two", queue="merge", turn_id="mine"))
    assert agentflow.submit(say("two", queue="merge", turn_id="mine")).replayed
    assert agentflow.stop(turn_id="mine")["outcome"] == "stopped"
    assert agentflow.result("mine").aborted
    gate.open()
    assert agentflow.result("t-0").answer == "first"
    assert agentflow.status()["queued"] == 0


def test_a_move_is_made_once(agentflow: Kit) -> None:
    """C19: also when the head has gone on meanwhile; and its id is no turn's."""
    agentflow.agent(replies=[{"text": "one"}, {"text": "two"}])
    agentflow.deliver(say("one"))
    agentflow.deliver(say("two"))
    move = {"type": "head.move", "message_id": "m-one", "turn_id": "back"}
    first = agentflow.submit(move)
    agentflow.run(agentflow.runtime.checkout("s-1", "m-two"))
    again = agentflow.submit(move)
    assert (first.replayed, again.replayed) == (False, True)
    assert (first.turn_id, again.turn_id) == ("", "")
    assert again.after_seq == first.after_seq
    assert agentflow.path()[-1]["id"] == "m-two"
    replayed = agentflow.submit(say("three", turn_id="back"))
    assert (replayed.turn_id, replayed.replayed) == ("", True)
    with pytest.raises(TurnNotFound):
        agentflow.result("back")


@pytest.mark.parametrize("kind", ["client.append", "client.messages"])
def test_record_only_records_and_runs_no_turn(agentflow: Kit, kind: str) -> None:
    """C8: importing a transcript; the next message follows it."""
    agentflow.agent(replies=[{"text": "now"}])
    told = [{"id": "a", "role": "user", "content": "then"}, {"id": "b", "role": "assistant", "content": "before"}]
    given = {"type": kind, "agent_id": "test", "messages": told, "record_only": True, "turn_id": "import"}
    receipt, again = agentflow.submit(given), agentflow.submit(given)
    assert (receipt.turn_id, receipt.queued, receipt.replayed, receipt.after_seq) == ("", False, False, 0)
    assert (again.turn_id, again.replayed) == ("", True)
    assert [message["id"] for message in agentflow.path()] == ["a", "b"]
    assert [event.type for event in agentflow.events()] == ["session.created", "message.new", "message.new"]
    assert agentflow.session()["steps"] == []
    assert agentflow.send("go").answer == "now"
    assert [message["content"] for message in agentflow.requests[0].messages[-3:]] == ["then", "before", "go"]


def test_record_only_leaves_running_turns_and_questions_alone(agentflow: Kit) -> None:
    gate = Gate(ASKS)
    agentflow.agent(replies=gate)
    agentflow.submit(say("go", turn_id="t-1"))
    told = {"type": "client.append", "messages": [{"role": "user", "content": "L"}], "record_only": True}
    with pytest.raises(TurnAlreadyActive):
        agentflow.submit(told)
    gate.open()
    agentflow.result("t-1")
    with pytest.raises(InvalidInput, match="record_only"):
        agentflow.submit(told)
    assert agentflow.status()["pending"]


@pytest.mark.parametrize(
    "also", [{"queue": True}, {"interrupt": True}, {"limits": {"max_iterations": 1}}, {"inputs": {"a": 1}}]
)
def test_record_only_takes_nothing_that_only_a_turn_can_hold(agentflow: Kit, also: dict[str, Any]) -> None:
    agentflow.agent()
    told = {"type": "client.append", "messages": [{"role": "user", "content": "x"}], "record_only": True}
    with pytest.raises(InvalidInput, match="record_only runs none"):
        agentflow.submit(told | also)


def test_a_refusal_that_nobody_hears_is_not_reported_as_lost(agentflow: Kit) -> None:
    """D16: the caller left before its submit was refused."""
    reported: list[dict[str, Any]] = []
    gate = Gate({"text": "first"})
    agentflow.agent(replies=gate)
    agentflow.submit(say("first"))

    async def leave() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))
        submitting = asyncio.ensure_future(agentflow.runtime.submit("s-1", say("second")))
        await asyncio.sleep(0)
        submitting.cancel()
        await asyncio.gather(submitting, return_exceptions=True)
        await agentflow.runtime.status("s-1")

    agentflow.run(leave())
    agentflow.restart()
    assert reported == []
