"""A pending question survives every way of reading and dying; a machine that was cancelled goes on (B04, B57)."""

from __future__ import annotations

import asyncio

import pytest

from agentflow import TurnResult
from agentflow.testing import Kit
from tests.scenarios.support import call, results, rows

QUESTIONS = [{"header": "Plan", "question": "Which one?", "options": [{"label": "Pro"}, {"label": "Free"}]}]
TODOS = [{"content": "Look", "status": "in_progress"}]


def test_reading_and_dying_leave_a_pending_question_alone(agentflow: Kit, agentflow_db: str) -> None:
    """B04: no placeholder anywhere, the answer goes in as the result of that call."""
    asks = {"tool_calls": [call("write_todos", todos=TODOS), call("ask_user", questions=QUESTIONS)]}
    agentflow.agent(planning=True, replies=[asks, {"text": "Fine."}])
    agentflow.send("Hi.")
    before = agentflow.status()
    agentflow.kill()
    agentflow.reopen()
    assert agentflow.session() == agentflow.session()
    assert agentflow.status() == before
    assert (before["pending"], before["todos"]) == (True, TODOS)
    assert [question["header"] for question in before["questions"]] == ["Plan"]
    agentflow.kill()
    agentflow.reopen()
    receipt = agentflow.run(
        agentflow.runtime.answer("s-1", tool_call_id=before["tool_call_id"], answers={"Plan": ["Pro"]})
    )
    assert agentflow.result(receipt.turn_id).state == "done"
    answers = [message for message in agentflow.path() if message.get("tool_call_id") == before["tool_call_id"]]
    assert [message["content"] for message in answers] == ["Plan: Pro"]
    assert results(agentflow.requests[1])[-1] == "Plan: Pro"
    assert rows(agentflow_db, "SELECT count(*) FROM tool_call WHERE status = 'closed'") == [(0,)]
    assert agentflow.status()["todos"] == TODOS


async def wait_for_ever() -> str:
    """Wait."""
    await asyncio.Event().wait()
    return "never"


async def _stopped_in_the_middle(kit: Kit, event_type: str) -> tuple[TurnResult, TurnResult]:
    """Stop a turn of one session at an event while the same agent works for another one."""
    runtime = kit.runtime
    message = {"type": "client.message", "agent_id": "test", "message": {"role": "user", "content": "stop me"}}
    doomed = await runtime.submit("a", message)
    other = asyncio.create_task(runtime.run("b", "test", "answer me"))
    async for event in runtime.events("a", 0, doomed.turn_id):
        if event.type == event_type:
            break
    await runtime.stop("a", doomed.turn_id)
    return await runtime.result("a", doomed.turn_id), await other


@pytest.mark.parametrize(
    ("event_type", "delay_secs"),
    [("turn.started", 0), ("llm.call.requested", 60), ("tool.call.requested", 0)],
    ids=["at once", "while the model speaks", "while a tool runs"],
)
def test_after_a_cancelled_turn_every_trigger_counts_and_nobody_else_is_cancelled(
    agentflow: Kit, event_type: str, delay_secs: float
) -> None:
    """B57: stopped wherever the turn stands, again and again in one process."""

    def reply(request: object) -> dict[str, object]:
        last = str(request.messages[-1]["content"])  # type: ignore[attr-defined]  # a ModelRequest
        if "stop me" not in last:
            return {"text": "answered"}
        return {"text": "working on it", "delay_secs": delay_secs, "tool_calls": [call("wait_for_ever")]}

    agentflow.agent(tools=[wait_for_ever], replies=reply)
    for _ in range(3):
        stopped, other = agentflow.run(_stopped_in_the_middle(agentflow, event_type))
        assert (stopped.state, other.state, other.answer) == ("aborted", "done", "answered")
        assert agentflow.send("answer me", session="a").answer == "answered"


OPEN = {"header": "Plan", "question": "Which one?"}


@pytest.mark.parametrize(
    ("questions", "complaint"),
    [
        ([], "a list of 1 to 4 questions is needed"),
        ([{"header": f"H{number}", "question": f"Q{number}?"} for number in range(50)], "a list of 1 to 4"),
        ([OPEN, {"header": "Plan", "question": "And?"}], "the header 'Plan' is there twice"),
        ([{**OPEN, "header": "A far too long header"}], "at most 12 are allowed"),
        ([{**OPEN, "options": [{"label": "Only"}]}], "none for an open question, or 2 to 4"),
        ([{**OPEN, "question": " "}], "must be a text that is not empty"),
    ],
)
def test_a_bad_question_is_an_error_result_and_pauses_nothing(
    agentflow: Kit, questions: list[dict[str, object]], complaint: str
) -> None:
    """B79, T17: the model is told, the turn goes on."""
    agentflow.agent(replies=[{"tool_calls": [call("ask_user", questions=questions)]}, {"text": "Then not."}])
    assert agentflow.send("Hi.").answer == "Then not."
    assert complaint in results(agentflow.requests[1])[0]
    assert agentflow.events("ask_user") == []


@pytest.mark.parametrize("lean", [True, False], ids=["lean", "full"])
def test_a_turn_that_completed_an_exchange_can_ask_and_go_on_in_another_process(agentflow: Kit, lean: bool) -> None:
    """C16, T20: the results it wrote for an earlier turn's calls belong to those calls, also when it is resumed."""
    asks = {"tool_calls": [call("ask_user", questions=QUESTIONS), call("ask_user", questions=QUESTIONS)]}
    agentflow.agent(replies=[asks, asks, {"text": "ok"}], settings={"lean_history": lean})
    agentflow.send("hi")
    asking = next(message for message in agentflow.path() if message["role"] == "assistant")
    assert agentflow.view([asking]).state == "paused_ask_user"
    agentflow.restart()
    result = agentflow.answer("here")
    assert (result.state, result.answer, result.error) == ("done", "ok", None)
