"""What passes between agentflow and the model library: requests as it wants them, its chunks as deltas. Pure."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

from agentflow.message import Usage
from agentflow.models.protocol import (
    Delta,
    ProviderData,
    ReasoningDelta,
    TextDelta,
    ToolFragment,
)
from agentflow.models.wire.answer_body import text_in

WireMessage = dict[str, Any]

# Providers that take system text in one place only, apart from the messages.
SYSTEM_APART = frozenset({"anthropic", "bedrock", "bedrock_converse", "gemini", "vertex_ai", "vertex_ai_beta"})
NOTE = "[Instruction from the application, not from the user]"
OPENING = "[The beginning of the conversation is left out]"
_MARKS = (NOTE, OPENING)


def system_apart(model: str, provider: str) -> bool:
    """Whether the model's provider would move system messages out of the conversation."""
    return provider in SYSTEM_APART or "claude" in model.lower()


def wire_messages(messages: Sequence[WireMessage], *, apart: bool) -> list[WireMessage]:
    """Copies the library may change, with `apart` every system message but the first one as a user message.

    Where system text has a place of its own, a message of this step would be moved there and change the prefix the
    provider has cached (X4); said as a marked user message it stays where it stands. Such providers also want a user
    to speak first.
    """
    written = [_copied(message) for message in messages]
    if not apart:
        return written
    for message in written:
        if message["role"] != "system":
            message["content"] = _unlike_ours(message["content"])
    for message in written[1:]:
        if message["role"] == "system":
            message.update(role="user", content=f"{NOTE}\n{message['content']}")
    start = 1 if written and written[0]["role"] == "system" else 0
    if start < len(written) and written[start]["role"] == "assistant":
        written.insert(start, {"role": "user", "content": OPENING})
    return written


def _unlike_ours(content: Any) -> Any:
    """What only reads like a note of ours is told apart from one (Z6)."""
    if isinstance(content, list):
        return [{**part, "text": _unlike_ours(part["text"])} if "text" in part else part for part in content]
    if not isinstance(content, str) or not any(mark in content for mark in _MARKS):
        return content
    for mark in _MARKS:
        content = content.replace(mark, f"\\{mark}")
    return content


def _copied(message: WireMessage) -> WireMessage:
    flat = "tool_calls" not in message and "thinking_blocks" not in message and not isinstance(message["content"], list)
    return dict(message) if flat else copy.deepcopy(message)


class ChunkReader:
    """Reads one stream's chunks, which have the shape of chat-completion chunks.

    `finish_reason` is the library's, null for a stream that was cut. `said`: there was text, reasoning or a call.
    """

    def __init__(self) -> None:
        self.finish_reason: str | None = None
        self.has_text = False
        self.said = False
        self._thinking: list[dict[str, Any]] = []
        self._reasoning: list[str] = []

    def read(self, chunk: Any) -> Iterator[Delta]:
        """The deltas of a chunk; its usage is read by `usage_of`."""
        for choice in chunk.choices[:1]:
            yield from self._delta(choice.delta)
            if choice.finish_reason:
                self.finish_reason = str(choice.finish_reason)

    def end(self) -> Iterator[Delta]:
        """What the provider must get back with this reply in the turn (T15): signed blocks or plain reasoning."""
        if self._thinking:
            yield ProviderData({"thinking_blocks": [_block(each) for each in self._thinking]})
        elif self._reasoning:
            yield ProviderData({"reasoning_content": "".join(self._reasoning)})

    def _delta(self, delta: Any) -> Iterator[Delta]:
        if thinking := getattr(delta, "thinking_blocks", None):
            self._keep(thinking)
        if reasoning := _text(getattr(delta, "reasoning_content", None)):
            self.said = True
            self._reasoning.append(reasoning)
            yield ReasoningDelta(reasoning)
        if text := _text(delta.content):
            self.said = self.has_text = True
            yield TextDelta(text)
        for call in delta.tool_calls or ():
            self.said = True
            function = call.function
            yield ToolFragment(call.index, call.id or None, function.name or None, function.arguments or "")

    def _keep(self, pieces: Sequence[Any]) -> None:
        for piece in map(dict, pieces):
            if self._thinking and _continues(self._thinking[-1], piece):
                block = self._thinking[-1]
                block["thinking"] = (block.get("thinking") or "") + (piece.get("thinking") or "")
                block["signature"] = piece.get("signature") or block.get("signature")
            else:
                self._thinking.append(piece)


def _text(content: Any) -> str:
    return content if type(content) is str else text_in(content)


def _continues(block: dict[str, Any], piece: dict[str, Any]) -> bool:
    """Blocks are told apart by index; where there is none, a signature ends a block."""
    if block["type"] != "thinking" or piece["type"] != "thinking":
        return False
    if "index" in block or "index" in piece:
        return bool(block.get("index") == piece.get("index"))
    return not block.get("signature")


def _block(kept: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in kept.items() if key != "index" and value is not None}


def usage_of(report: Any, cost: Decimal | None) -> Usage | None:
    """The provider's report in our terms; null when it says nothing.

    The library fills what it was not told with zeros, and no request has no tokens: zero input is unknown, and so
    is zero output beside it (X6).
    """
    details = getattr(report, "prompt_tokens_details", None)
    given, output = report.prompt_tokens or None, report.completion_tokens
    if given is None:
        return Usage(output=output) if output else None
    return Usage(
        given,
        output,
        _first(getattr(details, "cached_tokens", None), getattr(report, "cache_read_input_tokens", None)),
        _first(getattr(details, "cache_creation_tokens", None), getattr(report, "cache_creation_input_tokens", None)),
        cost,
    )


def _first(*values: int | None) -> int | None:
    return next((value for value in values if value is not None), None)
