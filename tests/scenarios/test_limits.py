"""Every limit, and what happens when it is reached (T39)."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from agentflow import InvalidInput
from agentflow.testing import Kit
from tests.scenarios.support import call, results, rows


def look(place: str = "here") -> str:
    """Look at a place."""
    return f"{place} is quiet"


def fail(why: str) -> str:
    """Fail."""
    raise ValueError(why)


def looks(*places: str, **more: Any) -> dict[str, Any]:
    return {"tool_calls": [call("look", place=place) for place in places], **more}


def fails(*whys: str) -> dict[str, Any]:
    return {"tool_calls": [call("fail", why=why) for why in whys]}


USED = {"usage": {"input": 60, "output": 6, "cost": 0.06}}
LIMITS: list[Any] = [
    pytest.param({"max_iterations": 2}, [looks("a"), looks("b")], id="max_iterations"),
    pytest.param({"max_tool_calls": 3}, [looks("a", "b"), looks("c")], id="max_tool_calls"),
    pytest.param({"max_consecutive_tool_errors": 2}, [fails("a"), fails("b")], id="max_consecutive_tool_errors"),
    pytest.param({"max_repeated_calls": 2}, [looks("a"), looks("a")], id="max_repeated_calls"),
    pytest.param({"max_input_tokens": 100}, [looks("a", **USED), looks("b", **USED)], id="max_input_tokens"),
    pytest.param({"max_output_tokens": 10}, [looks("a", **USED), looks("b", **USED)], id="max_output_tokens"),
    pytest.param({"max_cost": 0.1}, [looks("a", **USED), looks("b", **USED)], id="max_cost"),
]


@pytest.mark.parametrize(("settings", "replies"), LIMITS)
def test_at_a_limit_one_last_call_without_tools_gives_the_answer(
    agentflow: Kit, settings: dict[str, Any], replies: list[dict[str, Any]]
) -> None:
    """T39: `on_limit: answer`: the turn ends `done` with `limit` named."""
    (name,) = settings
    agentflow.agent(tools=[look, fail], replies=[*replies, {"text": "As far as I got."}], settings=settings)
    result = agentflow.send("Go.")
    assert (result.state, result.answer, result.limit, result.error) == ("done", "As far as I got.", name, None)
    assert len(agentflow.requests) == len(replies) + 1
    assert agentflow.requests[-2].tools
    assert not agentflow.requests[-1].tools
    assert agentflow.events("done")[0].data["limit"] == name
    assert agentflow.session()["steps"][0]["limit"] == name


@pytest.mark.parametrize(("settings", "replies"), LIMITS)
def test_with_on_limit_stop_the_turn_fails(
    agentflow: Kit, settings: dict[str, Any], replies: list[dict[str, Any]]
) -> None:
    """T39: `stop` ends it `failed` with `limit_reached`."""
    (name,) = settings
    agentflow.agent(tools=[look, fail], replies=replies, settings={**settings, "on_limit": "stop"})
    result = agentflow.send("Go.")
    assert result.error is not None
    assert (result.state, result.limit, result.error["code"]) == ("failed", name, "limit_reached")
    assert result.error["detail"] == {"limit": name, "allowed": settings[name]}
    assert len(agentflow.requests) == len(replies)


@pytest.mark.parametrize(("settings", "replies"), LIMITS)
def test_a_limit_counts_a_step_or_turn_and_the_next_one_starts_afresh(
    agentflow: Kit, settings: dict[str, Any], replies: list[dict[str, Any]]
) -> None:
    script = [*replies, {"text": "so far"}, replies[0], {"text": "fine"}]
    agentflow.agent(tools=[look, fail], replies=script, settings=settings)
    agentflow.send("Go.")
    second = agentflow.send("Again.")
    assert (second.answer, second.limit) == ("fine", None)


def test_a_call_in_the_last_reply_is_not_run(agentflow: Kit) -> None:
    """T39: the last call has no tools; a model that calls one all the same is told so, and the turn ends."""
    agentflow.agent(tools=[look], replies=[looks("a"), looks("b", text="I tried.")], settings={"max_iterations": 1})
    result = agentflow.send("Go.")
    assert (result.state, result.limit) == ("done", "max_iterations")
    assert len(agentflow.requests) == 2
    refused = [event.data["error"] for event in agentflow.events("tool.call.errored")]
    assert refused == ["Error: Not run: max_iterations is reached."]
    agentflow.script([{"text": "ok"}])
    assert agentflow.send("Still there?").answer == "ok"


def test_calls_beyond_max_tool_calls_get_an_error_result(agentflow: Kit) -> None:
    agentflow.agent(tools=[look], replies=[looks("a", "b", "c"), {"text": "ok"}], settings={"max_tool_calls": 2})
    assert agentflow.send("Go.").limit == "max_tool_calls"
    assert len(agentflow.events("tool.call.completed")) == 2
    assert "max_tool_calls (2) is reached" in results(agentflow.requests[1])[2]


def test_calls_beyond_max_tool_calls_per_reply_are_left_out_and_the_reply_says_so(
    agentflow: Kit, agentflow_db: str
) -> None:
    """T14: the raw reply stays in the call's row."""
    agentflow.agent(
        tools=[look], replies=[{"text": "I look.", **looks("a", "b", "c")}, looks("d"), {"text": "ok"}],
        settings={"max_tool_calls_per_reply": 2},
    )  # fmt: skip
    result = agentflow.send("Go.")
    assert (result.answer, result.limit) == ("ok", None)
    assert results(agentflow.requests[1]) == ["a is quiet", "b is quiet"]
    reply = agentflow.path()[1]
    told = "I look.\n[1 more tool calls of this reply were left out: at most 2 are made in one.]"
    assert (reply["content"], len(reply["tool_calls"])) == (told, 2)
    raw = [json.loads(text) for (text,) in rows(agentflow_db, "SELECT raw_reply FROM llm_call") if text is not None]
    assert [(each["content"], len(each["tool_calls"])) for each in raw] == [("I look.", 3)]


def test_a_reply_of_3000_calls_is_bounded_before_it_is_recorded(agentflow: Kit, agentflow_db: str) -> None:
    """D15: neither the next request nor the log grows with what a model asks for at once."""
    agentflow.agent(tools=[look], replies=[looks(*map(str, range(3000))), {"text": "ok"}])
    assert agentflow.send("Go.").answer == "ok"
    assert len(agentflow.path()[1]["tool_calls"]) == 32
    assert len(results(agentflow.requests[1])) == 32
    assert "2968 more tool calls" in str(agentflow.path()[1]["content"])
    assert rows(agentflow_db, "SELECT count(*) FROM tool_call") == [(32,)]


def test_other_arguments_or_another_tool_are_no_repetition(agentflow: Kit) -> None:
    """Limits: same name and arguments in a row."""
    replies = [looks("a"), looks("b"), looks("a"), fails("a"), looks("a"), {"text": "ok"}]
    agentflow.agent(tools=[look, fail], replies=replies, settings={"max_repeated_calls": 2})
    assert agentflow.send("Go.").limit is None


def test_a_success_ends_a_row_of_errors(agentflow: Kit) -> None:
    replies = [fails("a"), looks("a"), fails("b"), {"text": "ok"}]
    agentflow.agent(tools=[look, fail], replies=replies, settings={"max_consecutive_tool_errors": 2})
    assert agentflow.send("Go.").limit is None


@pytest.mark.parametrize("name", ["max_iterations", "max_tool_calls", "max_repeated_calls"])
def test_0_is_no_limit(agentflow: Kit, name: str) -> None:
    off = {"max_iterations": 0, "max_tool_calls": 0, "max_repeated_calls": 0}
    agentflow.agent(tools=[look], replies=[*[looks("a")] * 120, {"text": "ok"}], settings=off)
    result = agentflow.send("Go.")
    assert (result.answer, result.limit) == ("ok", None)


def test_a_turn_that_takes_too_long_fails_and_keeps_what_was_shown(agentflow: Kit) -> None:
    """Limits: `turn_timeout_secs`: the turn fails, `limit_reached`."""

    async def hang() -> str:
        """Hang."""
        await asyncio.Event().wait()
        return ""

    agentflow.agent(tools=[hang], replies=[{"text": "One moment.", "tool_calls": [call("hang")]}, {"text": "ok"}])
    result = agentflow.send("Go.", limits={"turn_timeout_secs": 0.05})
    assert result.error is not None
    assert (result.state, result.limit, result.error["code"]) == ("failed", "turn_timeout_secs", "limit_reached")
    assert [message["role"] for message in agentflow.path()] == ["user", "assistant", "tool"]
    assert agentflow.send("Go on.").answer == "ok"


def test_the_limits_of_one_request_hold_for_its_turn_only(agentflow: Kit) -> None:
    script = [looks("a"), {"text": "cut short"}, looks("a"), looks("b"), {"text": "whole"}]
    agentflow.agent(tools=[look], replies=script)
    assert agentflow.send("Go.", limits={"max_iterations": 1}).limit == "max_iterations"
    assert agentflow.send("Go.").answer == "whole"


@pytest.mark.parametrize("limits", [{"max_iterations": -1}, {"max_iteration": 1}, {"max_iterations": "many"}])
def test_limits_that_cannot_be_are_refused(agentflow: Kit, limits: dict[str, Any]) -> None:
    agentflow.agent()
    with pytest.raises(InvalidInput, match="max_iteration"):
        agentflow.send("Go.", limits=limits)


@pytest.mark.parametrize(("took", "state"), [(99, "done"), (100, "failed")])
def test_the_time_of_earlier_steps_counts_and_the_pause_between_them_does_not(
    agentflow: Kit, took: int, state: str
) -> None:
    """Limits: `turn_timeout_secs` is a turn's, time paused does not count."""

    async def work() -> str:
        """Work for a while."""
        agentflow.advance(took)
        return "worked"

    question = {"questions": [{"header": "On", "question": "Go on?"}]}
    agentflow.agent(
        tools=[work],
        settings={"turn_timeout_secs": 100},
        replies=[
            {"tool_calls": [call("work")]},
            {"tool_calls": [call("ask_user", **question)]},
            {"text": "done", "repeat": True},
        ],
    )
    agentflow.send("Go.")
    agentflow.advance(100_000)
    assert agentflow.answer("yes").state == state
