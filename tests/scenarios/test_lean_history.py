"""Lean history on the wire: what a turn reads of the turns before it (X1-X4)."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from agentflow.testing import Kit
from tests.scenarios.support import call, said


def look(place: str) -> str:
    """Look at a place."""
    return f"{place}: 17 sheep"


REPLIES: list[dict[str, Any]] = [
    {"text": "Let me look.", "tool_calls": [call("look", place="north")]},
    {"tool_calls": [call("look", place="south")]},
    {"text": "34 sheep."},
    {"text": "Yes."},
]


@pytest.mark.parametrize("restart", [False, True], ids=["warm", "read from the store"])
def test_earlier_turns_are_replayed_as_user_messages_and_answers_only(agentflow: Kit, restart: bool) -> None:
    """seed: the replay of earlier turns keeps only the conversational messages and leaves out the tool-call requests
    and tool results of earlier turns. X1: text beside a call is kept."""
    agentflow.agent(tools=[look], replies=REPLIES)
    agentflow.send("How many?")
    if restart:
        agentflow.restart()
    agentflow.send("Sure?")
    request = agentflow.requests[-1]
    assert said(request)[1:] == [
        ("user", "How many?"),
        ("assistant", "Let me look."),
        ("assistant", "34 sheep."),
        ("user", "Sure?"),
    ]
    assert not any("tool_calls" in message for message in request.messages)


@pytest.mark.parametrize("restart", [False, True], ids=["warm", "read from the store"])
def test_without_lean_history_earlier_tool_output_is_replayed(agentflow: Kit, restart: bool) -> None:
    """seed: If your agent must reuse raw tool output across turns, set lean_history: false."""
    agentflow.agent(tools=[look], replies=REPLIES, settings={"lean_history": False})
    agentflow.send("How many?")
    if restart:
        agentflow.restart()
    agentflow.send("Sure?")
    assert said(agentflow.requests[-1])[1:] == [
        ("user", "How many?"),
        ("assistant", "Let me look."),
        ("tool", "north: 17 sheep"),
        ("assistant", None),
        ("tool", "south: 17 sheep"),
        ("assistant", "34 sheep."),
        ("user", "Sure?"),
    ]


def test_the_full_trail_stays_stored(agentflow: Kit) -> None:
    """seed: The full trail is still stored and is visible in the trace."""
    agentflow.agent(tools=[look], replies=REPLIES)
    agentflow.send("How many?")
    agentflow.send("Sure?")
    assert [message["role"] for message in agentflow.path()] == [
        "user", "assistant", "tool", "assistant", "tool", "assistant", "user", "assistant",
    ]  # fmt: skip


def test_switching_lean_history_off_brings_the_trail_back(agentflow: Kit) -> None:
    """A7: a new turn uses the new file; nothing of the history was thrown away."""
    agentflow.agent(tools=[look], replies=REPLIES[:3])
    agentflow.send("How many?")
    agentflow.agent(tools=[look], replies=[{"text": "Yes."}], settings={"lean_history": False})
    agentflow.send("Sure?")
    assert [role for role, _ in said(agentflow.requests[-1])].count("tool") == 2


@pytest.mark.parametrize("lean", [True, False])
def test_a_turn_begins_with_the_previous_turns_first_request(agentflow: Kit, lean: bool) -> None:
    """X4: byte for byte, so that the provider's prompt cache is hit."""
    agentflow.agent(tools=[look], replies=[*REPLIES, {"text": "Bye."}], settings={"lean_history": lean})
    for text in ("How many?", "Sure?", "Thanks."):
        agentflow.send(text)
    firsts = [agentflow.requests[index] for index in (0, 3, 4)]
    for earlier, later in pairwise(firsts):
        assert list(later.messages[: len(earlier.messages)]) == list(earlier.messages)
        assert later.tools == earlier.tools


def test_call_ids_that_a_provider_numbers_afresh_are_unique_in_a_request(agentflow: Kit) -> None:
    """T7, T14: ids unique within a request, whatever the provider called its calls."""
    numbered = {"tool_calls": [{**call("look", place="north"), "id": "call_0"}]}
    agentflow.agent(tools=[look], replies=[numbered, numbered, {"text": "a"}, numbered, {"text": "b"}],
                    settings={"lean_history": False})  # fmt: skip
    agentflow.send("one")
    agentflow.send("two")
    messages = agentflow.requests[-1].messages
    asked = [each["id"] for message in messages for each in message.get("tool_calls", ())]
    answered = [message["tool_call_id"] for message in messages if message["role"] == "tool"]
    assert len(asked) == 3
    assert len(set(asked)) == 3
    assert answered == asked


def test_a_client_system_message_is_an_ordinary_node_after_the_prompt(agentflow: Kit) -> None:
    """C4, X1."""
    agentflow.agent(replies=[{"text": "a"}, {"text": "b"}])
    told = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}]
    agentflow.deliver({"type": "client.append", "messages": told})
    agentflow.send("more")
    assert said(agentflow.requests[1]) == [
        ("system", "You are under test."),
        ("system", "Be brief."),
        ("user", "hi"),
        ("assistant", "a"),
        ("user", "more"),
    ]


@pytest.mark.parametrize("restart", [False, True], ids=["warm", "read from the store"])
def test_a_step_that_goes_on_from_an_open_call_reads_the_full_history_and_the_next_one_does_not(
    agentflow: Kit, restart: bool
) -> None:
    """X2, C16: the view ends inside an exchange, whose call has no result there."""
    both = {"tool_calls": [call("look", place="east"), call("look", place="west")]}
    agentflow.agent(tools=[look], replies=[*REPLIES, both, {"text": "Both."}, {"text": "Again."}, {"text": "Lean."}])
    agentflow.send("How many?")
    agentflow.send("Sure?")
    agentflow.send("And the others?")
    cut = next(index for index, each in enumerate(agentflow.path()) if len(each.get("tool_calls", ())) == 2)
    agentflow.view([*agentflow.path()[: cut + 2], {"role": "user", "content": "Stop."}])
    assert agentflow.requests[-1].messages[-2]["content"] == "west: 17 sheep"
    assert ("tool", "north: 17 sheep") in said(agentflow.requests[-1])
    if restart:
        agentflow.restart()
    agentflow.send("Well?")
    assert "tool" not in [role for role, _ in said(agentflow.requests[-1])]
