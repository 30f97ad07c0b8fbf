"""Another process goes on with a session as the one that knows it would: each setting, over pauses and failures."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from agentflow import ModelRequest
from agentflow.testing import Kit
from tests.scenarios.support import call, rows

ASK = call("ask_user", questions=[{"header": "Size", "question": "Which size?"}])
LOOK = call("look", place="here")
CONVERSATION = [
    {"text": "Let me see.", "tool_calls": [LOOK, ASK]},
    {"text": "L it is."},
    {"text": "Once more.", "tool_calls": [LOOK]},
    {"text": "Seen twice."},
    {"text": "And again.", "tool_calls": [LOOK]},
    {"text": "The last one."},
]
SETTINGS: dict[str, dict[str, Any]] = {
    "lean": {},
    "whole": {"lean_history": False},
    "erased": {"observability": False},
    "compacted": {
        "compaction_threshold_fraction": 0.9, "compaction_context_window_tokens": 10**6, "lean_history": False,
    },
}  # fmt: skip


def look(place: str) -> str:
    """Look at a place.

    Args:
        place: Where.
    """
    return f"seen: {place}"


def read(request: ModelRequest) -> list[tuple[Any, ...]]:
    """What a model was asked, without ids."""
    return [
        (
            message["role"],
            message["content"],
            [each["function"]["name"] for each in message.get("tool_calls", ())],
        )
        for message in request.messages
    ]


def shown(kit: Kit, session: str) -> dict[str, Any]:
    """What a client sees of the session, without ids and times."""
    found = kit.session(session)
    steps = [(step["order"], step["status"], step["answer"], step["limit"]) for step in found["steps"]]
    said = [(message["role"], message["content"]) for message in found["messages"]]
    return {"status": found["status"], "steps": steps, "messages": said, "totals": found["totals"]}


def of_both(kit: Kit, talk: Callable[[str, Callable[[], None]], None], agent: str = "test") -> None:
    """Have the same talk in one process, and with another process for each request; they are the same."""
    wholes = []
    for session, between in (("s-1", lambda: None), ("s-2", kit.restart)):
        before = len(kit.requests_of(agent))
        talk(session, between)
        wholes.append(([read(request) for request in kit.requests_of(agent)[before:]], shown(kit, session)))
    for one, another in zip(*wholes, strict=True):
        assert one == another


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_every_request_reads_the_same_in_another_process(agentflow: Kit, settings: dict[str, Any]) -> None:
    """C5, X1, X2, R5: a pause, its answer, a turn with tools, one that fails at a limit, one more."""
    agentflow.agent(tools=[look], settings=settings, replies=CONVERSATION)

    def talk(session: str, between: Callable[[], None]) -> None:
        assert agentflow.send("one", session).state == "paused_ask_user"
        between()
        assert agentflow.answer("L", session).answer == "L it is."
        between()
        assert agentflow.send("two", session).answer == "Seen twice."
        between()
        failed = agentflow.send("three", session, limits={"max_iterations": 1, "on_limit": "stop"})
        assert (failed.state, failed.limit) == ("failed", "max_iterations")
        between()
        assert agentflow.send("four", session).answer == "The last one."

    of_both(agentflow, talk)


def test_a_sub_agent_that_asked_goes_on_the_same_in_another_process(agentflow: Kit) -> None:
    """T20, T22: its note, its results, and calls that keep their ids to themselves."""
    hand_over = {"tool_calls": [call("delegate", agent="desk", message="a note")]}
    numbered = {**LOOK, "id": "call_0"}
    own = [{"tool_calls": [numbered, {**ASK, "id": "call_1"}]}, {"tool_calls": [numbered]}, {"text": "done"}]
    agentflow.agent("desk", tools=[look], replies=own)
    agentflow.agent("test", sub_agents=["desk"], replies=[hand_over])

    def talk(session: str, between: Callable[[], None]) -> None:
        assert agentflow.send("one", session).state == "paused_ask_user"
        between()
        assert agentflow.answer("L", session).answer == "done"

    of_both(agentflow, talk, "desk")


@pytest.mark.parametrize("agent", ["test", "desk"], ids=["main", "sub-agent"])
def test_ids_of_before_the_pause_are_given_to_no_other_call(agentflow: Kit, agentflow_db: str, agent: str) -> None:
    """T14: a provider that numbers its calls in each reply does so after the pause as well."""
    numbered = {**LOOK, "id": "call_0"}
    own = [{"tool_calls": [numbered, {**ASK, "id": "call_1"}]}, {"tool_calls": [numbered]}, {"text": "done"}]
    if agent == "desk":
        agentflow.agent("desk", tools=[look], replies=own)
        own = [{"tool_calls": [{**call("delegate", agent="desk", message="a note"), "id": "call_0"}]}]
    agentflow.agent("test", tools=[look], sub_agents=["desk"] if agent == "desk" else [], replies=own)
    agentflow.send("one")
    agentflow.restart()
    assert agentflow.answer("L").answer == "done"
    made = rows(agentflow_db, "SELECT execution, id, name FROM tool_call WHERE name = 'look'")
    assert len({(execution, id_) for execution, id_, _ in made}) == len(made) == 2
    last = agentflow.requests_of(agent)[-1].messages
    asked = [each["id"] for message in last for each in message.get("tool_calls", ())]
    assert len(set(asked)) == len(asked) == 3


def test_what_a_paused_and_a_resumed_turn_says_of_its_runs(agentflow: Kit, agentflow_db: str) -> None:
    """T18, T22: who waits, who runs again, and that a pause is no end."""

    def running(place: str) -> str:
        """Say how the runs stand.

        Args:
            place: Where.
        """
        states.append(rows(agentflow_db, "SELECT status FROM execution ORDER BY number"))
        return place

    states: list[Any] = []
    later = call("running", place="here")
    agentflow.agent("desk", tools=[running], replies=[{"tool_calls": [ASK]}, {"tool_calls": [later]}, {"text": "ok"}])
    hand_over = {"tool_calls": [call("delegate", agent="desk", message="a note")]}
    agentflow.agent("test", sub_agents=["desk"], replies=[hand_over])
    agentflow.send("one")
    assert rows(agentflow_db, "SELECT status FROM execution") == [("PENDING_USER_INPUT",)] * 2
    assert rows(agentflow_db, "SELECT ended_at FROM turn") == [(None,)]
    agentflow.restart()
    assert agentflow.answer("L").answer == "ok"
    assert states == [[("RUNNING",), ("RUNNING",)]]


def test_a_process_that_is_told_to_go_says_so(agentflow: Kit) -> None:
    """T24, C21: it was not the user who stopped."""
    agentflow.agent(tools=[waits], replies=[{"text": "Wait.", "tool_calls": [call("waits")]}, {"text": "next"}])
    agentflow.submit({"type": "client.message", "message": {"role": "user", "content": "go"}})
    agentflow.until("tool.call.requested")
    agentflow.restart()
    closed = str(agentflow.path()[-1]["content"])
    assert "the process running this turn was shut down" in closed
    assert "ABORTED BY USER" not in str(agentflow.tree())
    assert agentflow.send("and now").answer == "next"


async def waits() -> str:
    """Never end."""
    await asyncio.Event().wait()
    return "never"


def test_a_turn_that_failed_is_erased_too(agentflow: Kit, agentflow_db: str) -> None:
    """R5."""
    off = {"observability": False, "max_iterations": 1, "on_limit": "stop"}
    agentflow.agent(tools=[look], settings=off, replies=[CONVERSATION[2], {"text": "next"}])
    assert agentflow.send("one").state == "failed"
    assert rows(agentflow_db, "SELECT id FROM message") == []
    agentflow.send("two")
    assert [text for role, text, _ in read(agentflow.requests[-1]) if role == "user"] == ["two"]


def test_a_stop_hits_no_other_question(agentflow: Kit) -> None:
    """T25: not that of another turn, and not one of another branch."""
    agentflow.agent(replies=[{"text": "hi"}, {"tool_calls": [ASK]}, {"text": "edited"}])
    agentflow.send("zero", turn_id="t-0")
    agentflow.send("one", turn_id="t-1")
    assert agentflow.stop(turn_id="t-0")["outcome"] == "nothing_to_stop"
    assert agentflow.status()["pending"]
    asked = agentflow.path()
    assert agentflow.view([*asked[:2], {"role": "user", "content": "else"}]).answer == "edited"
    assert agentflow.stop()["outcome"] == "nothing_to_stop"
    agentflow.run(agentflow.runtime.checkout("s-1", asked[3]["id"]))
    assert agentflow.status()["pending"]
