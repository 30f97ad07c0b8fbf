"""Bodies of answers byte for byte, in the formats of the providers: for answers an event list is too tidy for."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

Event = dict[str, Any]
DONE = b"data: [DONE]\n\n"


def sse(events: Sequence[Event]) -> bytes:
    """Each event as a server-sent one; those with a `type` carry it as their name, as Anthropic's do."""
    named = [(f"event: {event['type']}\n" if "type" in event else "", event) for event in events]
    return b"".join(f"{name}data: {json.dumps(event)}\n\n".encode() for name, event in named)


def openai(*deltas: Event, finish: str | None = None, done: bool = True) -> bytes:
    """A chat-completion stream: the deltas, the finish reason if there is one, `[DONE]`."""
    choices: list[Event] = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    if finish is not None:
        choices.append({"index": 0, "delta": {}, "finish_reason": finish})
    shape = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return sse([{**shape, "choices": [choice]} for choice in choices]) + (DONE if done else b"")


def gemini(*parts: Sequence[Event], finish: str | None = None) -> bytes:
    """A `streamGenerateContent` stream: a candidate per list of parts, the last one with the finish reason."""
    candidates: list[Event] = [{"content": {"role": "model", "parts": list(each)}, "index": 0} for each in parts]
    if finish is not None:
        candidates[-1]["finishReason"] = finish
    usage = {"promptTokenCount": 5, "candidatesTokenCount": 2, "totalTokenCount": 7}
    return sse([{"candidates": [candidate], "usageMetadata": usage} for candidate in candidates])


def anthropic(*texts: str, finish: str | None = None) -> bytes:
    """A messages stream with one text block, or none."""
    usage = {"input_tokens": 3, "output_tokens": 1}
    message = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": usage}
    events: list[Event] = [{"type": "message_start", "message": {**message, "stop_reason": None}}]
    if texts:
        events.append({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}})
        for text in texts:
            delta = {"type": "text_delta", "text": text}
            events.append({"type": "content_block_delta", "index": 0, "delta": delta})
        events.append({"type": "content_block_stop", "index": 0})
    if finish is not None:
        told = {"stop_reason": finish, "stop_sequence": None}
        events += [{"type": "message_delta", "delta": told, "usage": {"output_tokens": 4}}, {"type": "message_stop"}]
    return sse(events)
