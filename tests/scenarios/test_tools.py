"""The tool calls of a reply: side by side, each with a result, whatever the flow does (T8, T14)."""

from __future__ import annotations

import asyncio
import sys

from agentflow.testing import Kit
from tests.scenarios.support import call, results, said


def test_whatever_one_parallel_tool_does_the_others_keep_their_results(agentflow: Kit) -> None:
    """B07: one returns, one raises, one raises CancelledError, one exits; the turn ends with an answer."""

    def good() -> str:
        """Work."""
        return "ok"

    def bad() -> str:
        """Fail."""
        raise ValueError("no such city")

    async def cancelled() -> str:
        """Be cancelled."""
        raise asyncio.CancelledError

    def leaves() -> str:
        """Exit."""
        sys.exit(1)

    asked = [call("good"), call("bad"), call("cancelled"), call("leaves")]
    agentflow.agent(tools=[good, bad, cancelled, leaves], replies=[{"tool_calls": asked}, {"text": "done"}])
    result = agentflow.send("Go.")
    assert (result.state, result.answer) == ("done", "done")
    first, *failed = results(agentflow.requests[1])
    assert first == "ok"
    assert failed == ["Error: ValueError: no such city", "Error: CancelledError", "Error: SystemExit: 1"]
    assert len(agentflow.events("tool.call.completed")) == 1
    assert len(agentflow.events("tool.call.errored")) == 3


def test_results_are_recorded_as_they_come_and_sent_in_call_order(agentflow: Kit) -> None:
    """T14."""

    async def first() -> str:
        """Be late: end after the other one's result is recorded."""
        async for event in agentflow.runtime.events("s-1", follow=True):
            if event.type == "tool.call.completed":
                break
        return "first"

    async def second() -> str:
        """Be early."""
        return "second"

    agentflow.agent(tools=[first, second], replies=[{"tool_calls": [call("first"), call("second")]}, {"text": "ok"}])
    agentflow.send("Go.")
    assert [message["content"] for message in agentflow.path()[2:4]] == ["second", "first"]
    assert results(agentflow.requests[1]) == ["first", "second"]


def test_at_most_max_parallel_tools_run_at_once(agentflow: Kit) -> None:
    """Limits: `max_parallel_tools`, the other calls wait."""
    running, most = [0], [0]

    async def work(number: int) -> str:
        """Work."""
        running[0] += 1
        most[0] = max(most[0], running[0])
        for _ in range(5):
            await asyncio.sleep(0)
        running[0] -= 1
        return str(number)

    asked = [call("work", number=number) for number in range(7)]
    agentflow.agent(tools=[work], replies=[{"tool_calls": asked}, {"text": "ok"}], settings={"max_parallel_tools": 3})
    agentflow.send("Go.")
    assert most == [3]
    assert results(agentflow.requests[1]) == [str(number) for number in range(7)]


def test_a_flow_that_ends_the_turn_gives_the_answer(agentflow: Kit) -> None:
    """T8: `ends_turn: true`: its result is the answer, recorded as an assistant message after the result."""

    def hand_over(to: str) -> str:
        """Hand the conversation over."""
        return f"{to} will call you."

    agentflow.agent(
        tools=[{"flow": hand_over, "ends_turn": True}],
        replies=[{"text": "One moment.", "tool_calls": [call("hand_over", to="Ann")]}, {"text": "Hello again."}],
    )
    result = agentflow.send("A person, please.")
    assert (result.state, result.answer) == ("done", "Ann will call you.")
    assert [message["role"] for message in agentflow.path()] == ["user", "assistant", "tool", "assistant"]
    assert len(agentflow.requests) == 1
    agentflow.send("Thanks.")
    assert said(agentflow.requests[1])[1:4] == [
        ("user", "A person, please."),
        ("assistant", "One moment."),
        ("assistant", "Ann will call you."),
    ]


def test_ordinary_calls_run_before_the_one_that_ends_the_turn_and_a_second_ender_is_refused(agentflow: Kit) -> None:
    """T8: in one reply ordinary tools run first; of the enders one wins, the others get error results."""
    order: list[str] = []

    def note(text: str) -> str:
        """Note."""
        order.append(text)
        return "noted"

    def finish(text: str) -> str:
        """Finish."""
        order.append(text)
        return text

    asked = [call("finish", text="end"), call("finish", text="again"), call("note", text="n")]
    agentflow.agent(tools=[note, {"flow": finish, "ends_turn": True}], replies=[{"tool_calls": asked}])
    assert agentflow.send("Go.").answer == "end"
    assert order == ["n", "end"]
    (refused,) = agentflow.events("tool.call.errored")
    assert "only one call" in refused.data["error"]


def test_of_the_calls_that_end_a_turn_a_question_wins_over_a_handover_and_that_over_a_flow(agentflow: Kit) -> None:
    """T8: whatever their order in the reply."""

    def finish() -> str:
        """Finish."""
        return "finished"

    ends = [call("finish"), call("delegate", agent="other", message="yours")]
    question = call("ask_user", questions=[{"header": "Place", "question": "Which one?"}])
    agentflow.agent("other", replies=[{"text": "handed over"}])
    agentflow.agent(
        "main",
        sub_agents=["other"],
        tools=[{"flow": finish, "ends_turn": True}],
        replies=[{"tool_calls": [*ends, question]}, {"tool_calls": ends}],
    )
    assert agentflow.send("Go.").question
    assert agentflow.answer("here").answer == "handed over"


def test_a_failed_ender_does_not_end_the_turn(agentflow: Kit) -> None:
    def finish() -> str:
        """Finish."""
        raise ValueError("not yet")

    agentflow.agent(
        tools=[{"flow": finish, "ends_turn": True}], replies=[{"tool_calls": [call("finish")]}, {"text": "Well."}]
    )
    assert agentflow.send("Go.").answer == "Well."


def test_each_call_is_recorded_with_name_arguments_and_result(agentflow: Kit) -> None:
    """seed: Tool calls - name, arguments, result and duration."""

    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    agentflow.agent(tools=[add], replies=[{"tool_calls": [call("add", a=1, b=2)]}, {"text": "3"}])
    agentflow.send("1 + 2?")
    (asked,) = agentflow.events("tool.call.requested")
    (answered,) = agentflow.events("tool.call.completed")
    assert (asked.data["name"], asked.data["arguments"]) == ("add", '{"a": 1, "b": 2}')
    assert answered.data == {"id": asked.data["id"], "name": "add", "result": "3"}


def test_a_tool_that_takes_too_long_is_an_error_result(agentflow: Kit) -> None:
    """Limits: `tool_timeout_secs`; the entry's own `timeout_secs` wins."""

    async def hang() -> str:
        """Hang."""
        await asyncio.Event().wait()
        return ""

    agentflow.agent(
        tools=[{"flow": hang, "timeout_secs": 0.01}], replies=[{"tool_calls": [call("hang")]}, {"text": "ok"}]
    )
    assert agentflow.send("Go.").answer == "ok"
    assert "did not finish within 0.01 seconds" in results(agentflow.requests[1])[0]


def test_an_over_long_result_is_cut_for_the_model_and_later_turns_work(agentflow: Kit) -> None:
    """B18: the model's copy is cut with a notice that names the original size."""

    def dump() -> str:
        """Dump."""
        return "x" * 5_000_000

    agentflow.agent(tools=[dump], replies=[{"tool_calls": [call("dump")]}, {"text": "ok"}, {"text": "still here"}],
                    settings={"lean_history": False})  # fmt: skip
    agentflow.send("Dump.")
    (text,) = results(agentflow.requests[1])
    assert len(text) <= 50_000
    assert "5000000 characters" in text
    assert agentflow.send("And?").answer == "still here"
