"""A message as its row, and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from agentflow.conversation.tree import Node
from agentflow.message import Content, Message, ToolCall, WrittenAs
from agentflow.store.rows.inserts import InsertBlob, InsertMessage
from agentflow.text import compact_json, stored_json


def message_row(
    message: Message, branch: int, depth: int, turn: int, execution: int, written_as: WrittenAs | None = None
) -> InsertMessage:
    """A message at its place."""
    content, calls, provider = message.content, message.tool_calls, message.provider
    return InsertMessage(
        branch, depth, message.id, message.role, turn, execution, content if isinstance(content, str) else None,
        compact_json(content) if isinstance(content, list) else None,
        compact_json([[call.id, call.name, call.arguments] for call in calls]) if calls else None,
        message.tool_call_id, message.name, compact_json(provider) if provider else None, int(message.hidden),
        written_as="summary" if message.summary else written_as,
    )  # fmt: skip


def file_rows(message: Message) -> list[InsertBlob]:
    """The bytes that came with a message; they are written in the transaction that writes the message (W4)."""
    return [InsertBlob(file.hash, file.body) for file in message.files]


def as_recorded(message: Message) -> Message:
    """The message without the bytes that came with it, which are rows of their own."""
    return replace(message, files=()) if message.files else message


def copy_row(
    id_: str, original: Node, branch: int, depth: int, turn: int, execution: int, written_as: WrittenAs | None = None
) -> InsertMessage:
    """A copy at its place: it leaves content and calls to the first original and keeps its turn (C10, X18)."""
    return InsertMessage(
        branch, depth, id_, original.role, original.turn or turn, execution, call_id=original.tool_call_id,
        copied_from=original.original, written_as=written_as,
    )  # fmt: skip


def message_of(row: Sequence[Any]) -> Message:
    """The message of `id, role, content, parts, calls, call_id, name, provider, hidden, written_as` as selected."""
    id_, role, content, parts, calls, call_id, name, provider, hidden, written_as = row
    body: Content = stored_json(parts) if parts is not None else content
    asked = tuple(ToolCall(*call) for call in stored_json(calls)) if calls is not None else ()
    own = stored_json(provider) if provider is not None else None
    return Message(id_, role, body, asked, call_id, name, own, bool(hidden), written_as == "summary")
