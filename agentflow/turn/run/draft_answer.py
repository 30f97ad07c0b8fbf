"""The answer of a step between its reply and the end of the step, while its hooks may still change it (T9).

It is staged, not written: what takes its place, or cuts it short, takes it before anybody has read it in the store.
"""

from __future__ import annotations

from dataclasses import replace

from agentflow.message import Message
from agentflow.store.rows import changes
from agentflow.turn.run.execution import Execution


def staged_answer(execution: Execution) -> Message | None:
    """The answer that waits to be written, null when there is none."""
    messages = execution.transcript.messages
    last = messages[-1] if messages else None
    if last is None or last.role != "assistant" or last.tool_calls:
        return None
    return last if execution.staging.staged_message(last.id) is not None else None


def replace_answer(execution: Execution, text: str) -> Message:
    """Give the staged answer another text; the message as it will be written."""
    message = replace(execution.transcript.messages[-1], content=text)
    execution.staging.rewrite(message)
    execution.transcript.replace_last(message)
    return message


async def keep_shown(execution: Execution, answer: Message, text: str) -> None:
    """Keep a reply's text as a checkpoint while hooks work on it: what the user has seen outlives a crash (T30)."""
    if execution.staging.ends_model_call(answer.id):
        await execution.journal.commit_aside(changes.CheckpointLlmCall(text, answer.id))
