"""Sessions: made by an unused id, continued by the same one, each of one agent."""

from __future__ import annotations

import pytest

from agentflow import AgentNotFound, InvalidInput, SessionAgentMismatch, SessionNotFound
from agentflow.testing import Kit
from tests.scenarios.support import said


def test_a_new_id_starts_a_new_conversation(agentflow: Kit) -> None:
    """seed: Start a new conversation by sending a new, unique sessionId."""
    agentflow.agent(replies=lambda request: {"text": "hello"})
    agentflow.send("one", session="a")
    agentflow.send("two", session="b")
    assert said(agentflow.requests[1]) == [("system", "You are under test."), ("user", "two")]
    assert [each["session_id"] for each in agentflow.run(agentflow.runtime.sessions())] == ["b", "a"]


@pytest.mark.parametrize("restart", [False, True], ids=["warm", "after a restart"])
def test_the_same_id_continues_and_the_model_sees_the_earlier_turns(agentflow: Kit, restart: bool) -> None:
    """seed: The runtime loads the session's history and the model sees the earlier turns."""
    agentflow.agent(replies=[{"text": "Hello Ann."}, {"text": "Ann."}])
    agentflow.send("I am Ann.")
    if restart:
        agentflow.restart()
    agentflow.send("Who am I?")
    assert said(agentflow.requests[1]) == [
        ("system", "You are under test."),
        ("user", "I am Ann."),
        ("assistant", "Hello Ann."),
        ("user", "Who am I?"),
    ]


def test_sessions_do_not_see_each_other_when_they_run_at_once(agentflow: Kit) -> None:
    agentflow.agent(replies=lambda request: {"text": "to " + request.messages[-1]["content"]})
    runtime = agentflow.runtime

    async def all_at_once() -> list[str | None]:
        import asyncio

        turns = [runtime.run(f"s-{n}", "test", f"guest {n}") for n in range(20)]
        return [result.answer for result in await asyncio.gather(*turns)]

    assert agentflow.run(all_at_once()) == [f"to guest {n}" for n in range(20)]
    assert all(len(request.messages) == 2 for request in agentflow.requests)


def test_a_session_belongs_to_one_agent(agentflow: Kit) -> None:
    """seed: A session belongs to one agent. Use a new sessionId when you switch agents. (C8)"""
    agentflow.agent("first", replies=[{"text": "mine"}])
    agentflow.agent("second")
    agentflow.send("hi", agent_id="first")
    before = agentflow.events()
    with pytest.raises(SessionAgentMismatch, match="belongs to agent 'first', not 'second'") as refused:
        agentflow.send("hi", agent_id="second")
    assert refused.value.code == "session_agent_mismatch"
    assert refused.value.detail == {"session_id": "s-1", "agent_id": "first"}
    assert agentflow.events() == before


def test_a_known_session_needs_no_agent_id(agentflow: Kit) -> None:
    """C8: `agent_id` is optional once the session exists."""
    agentflow.agent(replies=[{"text": "1"}, {"text": "2"}])
    agentflow.send("one")
    message = {"type": "client.message", "message": {"role": "user", "content": "two"}}
    receipt = agentflow.run(agentflow.runtime.submit("s-1", message))
    assert agentflow.result(receipt.turn_id).answer == "2"


def test_a_new_session_without_an_agent_is_refused(agentflow: Kit) -> None:
    agentflow.agent()
    message = {"type": "client.message", "message": {"role": "user", "content": "hi"}}
    with pytest.raises(InvalidInput, match="name its agent with agent_id"):
        agentflow.run(agentflow.runtime.submit("s-1", message))


def test_an_unknown_agent_makes_no_session(agentflow: Kit) -> None:
    agentflow.agent()
    with pytest.raises(AgentNotFound):
        agentflow.send("hi", agent_id="nobody")
    with pytest.raises(SessionNotFound):
        agentflow.status()


@pytest.mark.parametrize("session", ["", "x" * 201, "a\nb"])
def test_a_session_id_has_1_to_200_printable_characters(agentflow: Kit, session: str) -> None:
    agentflow.agent()
    with pytest.raises(InvalidInput, match="1 to 200 printable characters"):
        agentflow.send("hi", session=session)


def test_a_session_is_idle_between_its_turns_and_names_the_last_outcome(agentflow: Kit) -> None:
    """T3."""
    agentflow.agent(replies=[{"text": "fine"}, {"error": {"kind": "auth"}}])
    agentflow.send("hi")
    first = agentflow.session()
    agentflow.send("again")
    assert (first["status"], first["outcome"]) == ("idle", "done")
    assert (agentflow.session()["status"], agentflow.session()["outcome"]) == ("idle", "failed")


def test_the_session_goes_on_after_a_failed_turn(agentflow: Kit) -> None:
    """C36: what is recorded is provider-valid after every turn, whatever its end."""
    agentflow.agent(replies=[{"error": {"kind": "auth"}}, {"text": "back"}])
    assert agentflow.send("one").state == "failed"
    assert agentflow.send("two").answer == "back"
    assert said(agentflow.requests[1])[1:] == [("user", "one"), ("user", "two")]


def test_a_deleted_session_leaves_nothing_and_its_id_starts_blank(agentflow: Kit) -> None:
    """R12."""
    agentflow.agent(replies=[{"text": "1"}, {"text": "2"}])
    agentflow.send("secret")
    agentflow.run(agentflow.runtime.delete("s-1"))
    with pytest.raises(SessionNotFound):
        agentflow.session()
    agentflow.send("hi", agent_id="test")
    assert said(agentflow.requests[1])[1:] == [("user", "hi")]
    assert agentflow.events()[0].seq == 1
