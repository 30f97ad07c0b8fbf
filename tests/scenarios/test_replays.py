"""A request that is made twice runs once (C19)."""

from __future__ import annotations

from typing import Any

import pytest

from agentflow import InvalidInput
from agentflow.testing import Kit


def message(text: str = "hi", identifier: str | None = None, **fields: Any) -> dict[str, Any]:
    told = {"role": "user", "content": text} | ({"id": identifier} if identifier else {})
    return {"type": "client.message", "agent_id": "test", "message": told, **fields}


@pytest.mark.parametrize(
    "again", [message("hi", turn_id="t-1"), message("something else", turn_id="t-1")], ids=["same", "other text"]
)
def test_a_turn_id_that_ended_answers_with_its_turn(agentflow: Kit, again: dict[str, Any]) -> None:
    agentflow.agent(replies=[{"text": "once"}])
    agentflow.deliver(message(turn_id="t-1"))
    before = agentflow.events()
    receipt = agentflow.submit(again)
    assert (receipt.turn_id, receipt.replayed, receipt.queued, receipt.after_seq) == ("t-1", True, False, 0)
    assert agentflow.result(receipt.turn_id).answer == "once"
    assert agentflow.events() == before
    assert len(agentflow.requests) == 1


def test_a_turn_id_that_is_running_answers_with_its_turn_instead_of_busy(agentflow: Kit) -> None:
    """C19: valid, replay, busy, in this order."""
    agentflow.agent(replies=[{"text": "once"}])
    agentflow.submit(message(turn_id="t-1"))
    receipt = agentflow.submit(message(turn_id="t-1"))
    assert receipt.replayed
    assert agentflow.result("t-1").answer == "once"


@pytest.mark.parametrize("restart", [False, True], ids=["same process", "after a restart"])
def test_a_message_id_that_is_recorded_answers_with_its_turn(agentflow: Kit, restart: bool) -> None:
    """B47: (i) while running, (ii) after done, (iii) after a restart."""
    agentflow.agent(replies=[{"text": "once"}])
    first = agentflow.submit(message(identifier="m-1"))
    assert agentflow.submit(message(identifier="m-1")).replayed
    agentflow.result(first.turn_id)
    if restart:
        agentflow.restart()
    again = agentflow.submit(message(identifier="m-1"))
    assert (again.turn_id, again.replayed) == (first.turn_id, True)
    assert len(agentflow.requests) == 1
    assert agentflow.path()[0]["id"] == "m-1"
    assert len(agentflow.path()) == 2


def test_ids_are_scoped_by_session(agentflow: Kit) -> None:
    """B47: the same id in another session is another message, the same turn id another turn."""
    agentflow.agent(replies=lambda request: {"text": "to " + request.session_id})
    for session in ("s-1", "s-2"):
        agentflow.submit(message(identifier="m-1", turn_id="t-1"), session)
    answers = [agentflow.result("t-1", session).answer for session in ("s-1", "s-2")]
    assert answers == ["to s-1", "to s-2"]
    assert [agentflow.path(session)[0]["id"] for session in ("s-1", "s-2")] == ["m-1", "m-1"]


def test_a_given_turn_id_wins_over_the_message_id(agentflow: Kit) -> None:
    """C7: a message whose id is recorded is dropped; the turn still runs. C13: it has nothing new to answer."""
    agentflow.agent(replies=[{"text": "one"}, {"text": "two"}])
    agentflow.deliver(message(identifier="m-1", turn_id="t-1"))
    agentflow.deliver({"type": "client.message", "message": {"role": "user", "content": "more"}, "turn_id": "t-2"})
    result = agentflow.deliver(message(identifier="m-1", turn_id="t-3"))
    assert (result.turn_id, result.state, result.answer) == ("t-3", "done", "two")
    assert [each["content"] for each in agentflow.path()].count("hi") == 1


def test_a_request_without_ids_gets_them_and_runs_again(agentflow: Kit) -> None:
    """C19: no `turn_id`: one is minted. C3: so is a message id."""
    agentflow.agent(replies=[{"text": "one"}, {"text": "two"}])
    first, second = agentflow.deliver(message()), agentflow.deliver(message())
    assert first.turn_id != second.turn_id
    assert len({each["id"] for each in agentflow.path()}) == 4


def test_ids_told_are_the_ids_stored_so_resending_the_whole_view_adds_nothing(agentflow: Kit) -> None:
    """B47, C3, C13: ten full resends with one new message each grow the session by two messages a turn."""
    agentflow.agent(replies=lambda request: {"text": f"reply {request.turn}"})
    view: list[dict[str, Any]] = []
    for turn in range(1, 11):
        new = {"id": f"u-{turn}", "role": "user", "content": f"text {turn}"}
        agentflow.deliver({"type": "client.messages", "agent_id": "test", "messages": [*view, new]})
        told = [event.data["message"] for event in agentflow.events("message.new")]
        assert len(told) == 2 * turn
        view = told
    assert view == agentflow.path()


def test_an_input_that_is_not_valid_is_refused_before_anything_else(agentflow: Kit) -> None:
    """C19: valid comes first, even for a turn id that would be replayed."""
    agentflow.agent(replies=[{"text": "once"}])
    agentflow.deliver(message(turn_id="t-1"))
    with pytest.raises(InvalidInput, match="role"):
        agentflow.submit(message(turn_id="t-1") | {"message": {"role": "assistant", "content": "hi"}})
