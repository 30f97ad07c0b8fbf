"""What of a request its provider is asked to keep: marks on the stable prefix, where a provider wants them (W6). Pure.

At most four are taken: one on the system prompt, one on the tools, one on the last message of the turns before. Marks
that a worker has put on messages count too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

MOST_MARKS = 4
MARK = "cache_control"
_KEPT = {"type": "ephemeral"}
_PROVIDERS = frozenset(
    {"anthropic", "azure_ai", "bedrock", "bedrock_converse", "databricks", "openrouter", "vertex_ai"}
)

Message = dict[str, Any]


def wants_marks(model: str, provider: str) -> bool:
    """Whether the provider keeps a prefix only where it is marked."""
    return provider in _PROVIDERS and "claude" in model.lower()


def mark(messages: list[Message], tools: list[Message]) -> None:
    """Put the marks on messages and tools in place, never on an empty block or a tool's result, which is sent as many.

    Of more than four of a worker's own the last four stay.
    """
    own = list(_marked(messages))
    for block in own[:-MOST_MARKS]:
        del block[MARK]
    places = [_last_of_turns_before(messages), next(iter(messages[:1]), None)]
    free = MOST_MARKS - len(own)
    for message in places:
        if free > 0 and message is not None and _mark_text(message):
            free -= 1
    if free > 0 and tools:
        tools[-1][MARK] = dict(_KEPT)


def _last_of_turns_before(messages: list[Message]) -> Message | None:
    """The last message in front of this turn's first one that has a text of its own."""
    end = next((at for at in range(len(messages) - 1, 0, -1) if messages[at]["role"] == "user"), 0)
    while end > 1 and messages[end - 1]["role"] == "user":
        end -= 1
    before = (each for each in reversed(messages[1:end]) if each["role"] in ("user", "assistant"))
    return next((each for each in before if _text_block(each) is not None), None)


def _mark_text(message: Message) -> bool:
    """Mark the last text of a message; false when it has none, or is marked already."""
    if any(_marked([message])):
        return False
    block = _text_block(message)
    if block is None:
        return False
    if isinstance(message["content"], str):
        message["content"] = [block]
    block[MARK] = dict(_KEPT)
    return True


def _text_block(message: Message) -> dict[str, Any] | None:
    content = message.get("content")
    if isinstance(content, str):
        return {"type": "text", "text": content} if content.strip() else None
    parts = content if isinstance(content, list) else []
    texts = (part for part in reversed(parts) if part.get("type") == "text" and str(part.get("text", "")).strip())
    return next(texts, None)


def _marked(messages: list[Message]) -> Iterator[dict[str, Any]]:
    for message in messages:
        if MARK in message:
            yield message
        content = message.get("content")
        yield from (part for part in content if MARK in part) if isinstance(content, list) else ()
