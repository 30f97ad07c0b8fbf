"""`Runtime.explain`: the next request, without a call."""

from __future__ import annotations

from typing import Any

import pytest

from agentflow.testing import Kit
from tests.scenarios.support import call


def double(n: int) -> int:
    """Double a number."""
    return 2 * n


def test_it_is_exactly_what_the_next_request_begins_with(agentflow: Kit) -> None:
    agentflow.agent(
        tools=[double], replies=[{"text": "Let me see.", "tool_calls": [call("double", n=2)]}, {"text": "4"}]
    )
    agentflow.send("Double 2")
    before = agentflow.events()
    explained = agentflow.run(agentflow.runtime.explain("test", "s-1"))
    assert agentflow.events() == before
    assert len(agentflow.requests) == 2
    agentflow.script([{"text": "ok"}])
    agentflow.send("next")
    sent = agentflow.requests[-1]
    assert [*explained["messages"], {"role": "user", "content": "next"}] == list(sent.messages)
    assert explained["tools"] == list(sent.tools)


def test_the_parts_add_up(agentflow: Kit) -> None:
    agentflow.agent(tools=[double], prompt="x" * 40)
    explained = agentflow.run(agentflow.runtime.explain("test"))
    sizes = {section["name"]: section["chars"] for section in explained["sections"]}
    assert sizes["system prompt"] == 40
    assert sizes["history"] == 0
    assert sum(sizes.values()) == explained["chars"]
    assert explained["tokens"] == -(-explained["chars"] // 4)
    assert explained["session_id"] is None


@pytest.mark.parametrize(
    ("keys", "window"),
    [
        ({}, None),
        ({"settings": {"compaction_context_window_tokens": 9000}}, 9000),
        ({"settings": {"compaction_context_window_tokens": 9000}, "context": {"window": 8000}}, 8000),
    ],
)
def test_it_says_how_much_the_model_can_read_and_whether_it_is_kept(
    agentflow: Kit, keys: dict[str, Any], window: int | None
) -> None:
    """X8, R5."""
    agentflow.agent(**keys)
    explained = agentflow.run(agentflow.runtime.explain("test"))
    assert (explained["window"], explained["observability"]) == (window, True)


def test_a_question_that_waits_is_no_reason_to_fail(agentflow: Kit) -> None:
    question = {"questions": [{"header": "Plan", "question": "Which?"}]}
    agentflow.agent(replies=[{"tool_calls": [call("ask_user", **question)]}])
    agentflow.send("hi")
    explained = agentflow.run(agentflow.runtime.explain("test", "s-1"))
    assert [message["role"] for message in explained["messages"]] == ["system", "user"]


def test_a_variable_that_only_a_hook_knows_is_shown_as_it_is_written(agentflow: Kit) -> None:
    """A1, T36"""

    def load() -> dict[str, dict[str, str]]:
        return {"vars": {"plan": "Pro"}}

    agentflow.agent(prompt="On {{ vars.plan }}.", hooks={"step_start": [load]})
    explained = agentflow.run(agentflow.runtime.explain("test"))
    assert explained["messages"][0]["content"] == "On {{ vars.plan }}."
