"""How a run ends, from the last event of its step (G3). Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ag_ui.core import (
    BaseEvent,
    Interrupt,
    RunErrorEvent,
    RunFinishedCancelledOutcome,
    RunFinishedEvent,
    RunFinishedInterruptOutcome,
    RunFinishedSuccessOutcome,
    TokenUsage,
)

from agentflow.server.agui.translator import Spent, Translator

Outcome = RunFinishedCancelledOutcome | RunFinishedInterruptOutcome | RunFinishedSuccessOutcome


def finished(thread_id: str, run_id: str) -> RunFinishedEvent:
    """Of a run that had nothing to do."""
    return RunFinishedEvent(thread_id=thread_id, run_id=run_id, outcome=RunFinishedSuccessOutcome())


def ended(
    thread_id: str, run_id: str, done: Mapping[str, Any], told: Translator, expires_at: str | None = None
) -> BaseEvent:
    """`done` is the data of the step's last event; what it asked or failed with was `told` before."""
    usage = [_usage(model, each) for model, each in told.spent.items()] or None
    if told.failure is not None:
        return RunErrorEvent(message=told.failure["message"], code=told.failure["code"], usage=usage)
    outcome = _outcome(done, told, expires_at)
    return RunFinishedEvent(thread_id=thread_id, run_id=run_id, outcome=outcome, usage=usage)


def _outcome(done: Mapping[str, Any], told: Translator, expires_at: str | None) -> Outcome:
    if done["aborted"]:
        return RunFinishedCancelledOutcome()
    if done["pending"] and told.asked is not None:
        return RunFinishedInterruptOutcome(interrupts=[interrupt(told.asked, expires_at)])
    return RunFinishedSuccessOutcome(pending_tool_call_ids=told.calls if done["pending"] else None)


def interrupt(asked: Mapping[str, Any], expires_at: str | None = None) -> Interrupt:
    """A pending question, `{tool_call_id, questions}`."""
    questions = asked["questions"]
    return Interrupt(
        id=asked["tool_call_id"],
        reason="ask_user",
        message="\n".join(question["question"] for question in questions),
        tool_call_id=asked["tool_call_id"],
        response_schema=response_schema(questions),
        expires_at=expires_at,
        metadata={"questions": questions},
    )


def response_schema(questions: list[dict[str, Any]]) -> dict[str, Any]:
    """A JSON Schema of the answers by header; any other text is an answer too."""
    return {
        "type": "object",
        "properties": {question["header"]: _answer_schema(question) for question in questions},
        "additionalProperties": False,
    }


def _answer_schema(question: Mapping[str, Any]) -> dict[str, Any]:
    labels = [option["label"] for option in question.get("options") or ()]
    said: dict[str, Any] = {"type": "string", "description": question["question"]}
    if labels:
        said["examples"] = labels
    if question.get("multi_select"):
        return {"type": "array", "items": said, "description": question["question"]}
    return said


def _usage(model: str, spent: Spent) -> TokenUsage:
    return TokenUsage(
        model=model,
        input_tokens=spent.input,
        output_tokens=spent.output,
        total_tokens=spent.input + spent.output,
        cached_input_tokens=spent.cached,
        cache_write_input_tokens=spent.written,
    )
