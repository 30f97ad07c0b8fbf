"""The answer of a step between its reply and the end of the step, while its hooks may still change it (T9).

It is staged, not written: what takes its place, or cuts it short, takes it before anybody has read it in the store.
"""

from __future__ import annotations

from dataclasses import replace

from agentflow import events
from agentflow.message import Message
from agentflow.store import rows
from agentflow.store.rows import message_row
from agentflow.turn.run.execution import Execution


def staged_answer(execution: Execution) -> Message | None:
    """The answer that waits to be written, null when there is none."""
    last = execution.messages[-1] if execution.messages else None
    if last is None or last.role != "assistant" or last.tool_calls or _row(execution, last) is None:
        return None
    return last


def replace_answer(execution: Execution, text: str) -> Message:
    """Give the staged answer another text; the message as it will be written."""
    last = execution.messages[-1]
    message, place = replace(last, content=text), _row(execution, last)
    if place is None:
        raise LookupError(f"message {last.id} is not staged")
    staged = message_row(message, place.branch, place.depth, place.turn, place.execution)
    execution.staged_rows = [staged if row is place else row for row in execution.staged_rows]
    execution.staged_log = [
        events.message_new(message, entry.full["parent_id"])
        if entry.type == events.MESSAGE_NEW and entry.ref == last.id
        else entry
        for entry in execution.staged_log
    ]
    execution.replace_last(message)
    if execution.path:
        execution.path[-1] = message
    return message


async def keep_shown(execution: Execution, answer: Message, text: str) -> None:
    """Keep a reply's text as a checkpoint while hooks work on it: what the user has seen outlives a crash (T30)."""
    if any(isinstance(row, rows.EndLlmCall) and row.id == answer.id for row in execution.staged_rows):
        await execution.journal.commit([rows.CheckpointLlmCall(text, answer.id)], [])


def _row(execution: Execution, message: Message) -> rows.InsertMessage | None:
    for row in execution.staged_rows:
        if isinstance(row, rows.InsertMessage) and row.id == message.id:
            return row
    return None
