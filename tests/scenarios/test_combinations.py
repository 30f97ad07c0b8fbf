"""Rules that meet: answering anew with hooks and sub-agents, limits after a pause, a worker and a handed-over turn."""

from __future__ import annotations

from typing import Any

from agentflow import FlowContext
from agentflow.testing import Kit
from tests.scenarios.support import call, said

ASK = call("ask_user", questions=[{"header": "Which", "question": "Which one?"}])
DELEGATE = {"tool_calls": [call("delegate", agent="sub", message="a note")]}


def look(n: int = 0) -> str:
    """Look something up.

    Args:
        n: Where.
    """
    return f"found {n}"


def test_a_regenerated_turn_hands_over_the_users_message_and_may_ask(agentflow: Kit) -> None:
    """C13, T22, T34: the sub-agent goes on with the user's message, also when it was answered before."""
    agentflow.agent("sub", replies=[{"text": "one"}, {"tool_calls": [ASK]}, {"text": "two"}])
    agentflow.agent("main", sub_agents=["sub"], replies=[DELEGATE, DELEGATE])
    agentflow.send("help me")
    paused = agentflow.regenerate()
    assert paused.state == "paused_ask_user"
    agentflow.restart()
    assert agentflow.answer("this one").answer == "two"
    first, again, resumed = map(said, agentflow.requests_of("sub"))
    assert again == first
    assert resumed[: len(first)] == first


def test_a_turn_regenerated_and_paused_hands_over_the_users_message_when_it_goes_on(agentflow: Kit) -> None:
    """T34: the step after the pause brings an answer and no message; the request is that of the branch."""
    agentflow.agent("sub", replies=[{"text": "done"}])
    agentflow.agent("main", sub_agents=["sub"], replies=[{"text": "one"}, {"tool_calls": [ASK]}, DELEGATE])
    agentflow.send("help me")
    agentflow.regenerate()
    agentflow.answer("this one")
    assert said(agentflow.requests_of("sub")[0])[-1] == ("user", "help me")


def test_text_of_a_step_stands_before_the_message_that_is_answered_anew(agentflow: Kit) -> None:
    """X4: directly before the step's user message, so both requests are the same."""

    def load(ctx: FlowContext) -> dict[str, str]:
        return {"context": "what was loaded"}

    agentflow.agent(hooks={"step_start": [load]}, replies=[{"text": text} for text in ("zero", "one", "two")])
    agentflow.send("before")
    agentflow.send("help me")
    agentflow.regenerate()
    assert said(agentflow.requests[2]) == said(agentflow.requests[1])


def test_a_view_that_ends_with_results_is_answered_with_these_results_in_sight(agentflow: Kit) -> None:
    """C13, X1: lean history leaves out what earlier turns did, not the work that is being answered."""
    replies: list[dict[str, Any]] = [
        {"tool_calls": [call("look", n=1)]},
        {"tool_calls": [call("look", n=2)]},
        {"text": "1"},
        {"text": "2"},
    ]
    agentflow.agent(tools=[look], replies=replies)
    agentflow.send("help me")
    agentflow.view(agentflow.path()[:5])
    assert said(agentflow.requests[3]) == said(agentflow.requests[2])
    assert [message["content"] for message in agentflow.path()][-2:] == ["found 2", "2"]


def test_a_turn_that_may_go_on_has_the_same_allowance_again(agentflow: Kit) -> None:
    """T39: what was used before the user agreed does not count, or each further call would ask anew."""
    replies = [{"tool_calls": [call("look", n=n)], "usage": {"input": 40, "output": 1}} for n in range(6)]
    agentflow.agent(tools=[look], settings={"max_input_tokens": 100, "on_limit": "ask"}, replies=replies)
    agentflow.send("go")
    assert len(agentflow.requests) == 3
    asked_again = agentflow.answer("Go on")
    assert asked_again.question
    assert len(agentflow.requests) == 6
    assert asked_again.usage.input == 240


def test_a_worker_that_replaces_the_history_of_a_finished_turn_keeps_its_answer(agentflow: Kit) -> None:
    """X14: any decision may return context.replace; what the user has read stays the turn's answer."""

    def decide(request: dict[str, Any]) -> Any:
        if request["trigger"]["type"] != "turn.finished":
            return request["proposed"]
        return {"actions": [{"type": "context.replace", "summary": "short"}, {"type": "done"}]}

    agentflow.agent(worker=decide, replies=[{"text": "the answer"}, {"text": "the second"}])
    assert agentflow.send("go").answer == "the answer"
    assert agentflow.events("done")[-1].data["answer"] == "the answer"
    assert agentflow.send("on").answer == "the second"
    assert "short" in said(agentflow.requests[1])[1][1]


def test_a_worker_is_asked_again_when_a_handed_over_turn_goes_on(agentflow: Kit) -> None:
    """C6, C32: its configuration is in force, and it decides on the sub-agent's result and on the end."""
    told: list[str] = []

    def decide(request: dict[str, Any]) -> Any:
        told.append(request["trigger"]["type"])
        return {"agent": {"prompt": "As told."}} if told[-1] == "session.start" else request["proposed"]

    agentflow.agent("sub", replies=[{"tool_calls": [ASK]}, {"error": {"kind": "auth"}}])
    agentflow.agent("main", sub_agents=["sub"], worker=decide, replies=[DELEGATE, {"text": "by myself"}])
    agentflow.send("help me")
    agentflow.restart()
    told.clear()
    assert agentflow.answer("this one").answer == "by myself"
    assert told == ["tool.finished", "llm.finished", "turn.finished"]
    first, second = agentflow.requests_of("main")
    assert said(second)[0] == said(first)[0]
    assert str(said(second)[0][1]).startswith("As told.")


def test_a_worker_may_leave_the_path_when_a_handed_over_turn_comes_back(agentflow: Kit) -> None:
    """X19: the call that handed the turn over is voided with the path it stands on."""

    def decide(request: dict[str, Any]) -> Any:
        if request["trigger"]["type"] != "tool.finished":
            return request["proposed"]
        news = [{"role": "user", "content": "start over"}]
        return {"actions": [{"type": "context.replace", "messages": news}, {"type": "llm.call"}]}

    agentflow.agent("sub", replies=[{"tool_calls": [ASK]}, {"text": "mine"}])
    agentflow.agent("main", sub_agents=["sub"], worker=decide, replies=[DELEGATE, {"text": "anew"}])
    agentflow.send("help me")
    assert agentflow.answer("this one").answer == "anew"
    assert said(agentflow.requests_of("main")[1])[1:] == [("user", "start over")]
    assert [event.data["name"] for event in agentflow.events("call.voided")] == ["delegate"]
