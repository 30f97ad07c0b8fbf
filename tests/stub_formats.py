"""The two wire formats of the stub provider: an answer as events, and what a strict provider would refuse."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.stub_server import Answer

Event = dict[str, Any]


def pieces(text: str, count: int) -> list[str]:
    """The text in at most `count` parts of about the same size; an empty text is one empty part."""
    size = max(-(-len(text) // count), 1)
    return [text[at : at + size] for at in range(0, len(text), size)] or [""]


def _texts(answer: Answer) -> list[str]:
    return ([answer.text] if answer.text else []) if isinstance(answer.text, str) else list(answer.text)


def openai_events(answer: Answer) -> tuple[list[Event], list[Event]]:
    """The events before the finish, and the finish with usage in a chunk of its own."""
    if answer.events is not None:
        return list(answer.events), []
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"reasoning_content": text} for text in answer.reasoning]
    deltas += [{"content": text} for text in _texts(answer)]
    for index, call in enumerate(answer.calls):
        deltas += [{"tool_calls": [fragment]} for fragment in _openai_fragments(index, call)]
    finish = answer.finish or ("tool_calls" if answer.calls else "stop")
    usage: list[Event] = [] if answer.usage is None else [_openai_chunk([], usage=_openai_usage(answer.usage))]
    return [_openai_delta(delta) for delta in deltas], [_openai_delta({}, finish), *usage]


def _openai_fragments(index: int, call: Any) -> Iterator[dict[str, Any]]:
    yield {
        "index": index,
        "id": call.id or f"call_{index}",
        "type": "function",
        "function": {"name": call.name, "arguments": ""},
    }
    for part in pieces(call.arguments, call.pieces):
        yield {"index": index, "function": {"arguments": part}}


def _openai_delta(delta: dict[str, Any], finish: str | None = None) -> Event:
    return _openai_chunk([{"index": 0, "delta": delta, "finish_reason": finish}])


def _openai_chunk(choices: list[Any], **more: Any) -> Event:
    return {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices, **more}


def _openai_usage(usage: dict[str, int]) -> dict[str, Any]:
    report: dict[str, Any] = {
        "prompt_tokens": usage["input"],
        "completion_tokens": usage["output"],
        "total_tokens": usage["input"] + usage["output"],
    }
    if "cache_read" in usage:
        report["prompt_tokens_details"] = {"cached_tokens": usage["cache_read"]}
    return report


_STOP_REASONS = {"tool_calls": "tool_use", "length": "max_tokens", "stop": "end_turn", "content_filter": "refusal"}


def anthropic_events(answer: Answer) -> tuple[list[Event], list[Event]]:
    """The events before the finish, and `message_delta` with `message_stop`."""
    if answer.events is not None:
        return list(answer.events), []
    usage = _anthropic_usage(answer.usage or {"input": 0, "output": 0})
    message: Event = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {**usage, "output_tokens": 1},
    }
    events: list[Event] = [{"type": "message_start", "message": message}]
    for index, block in enumerate(_anthropic_blocks(answer)):
        events += _anthropic_block(index, *block)
    finish = _STOP_REASONS[answer.finish or ("tool_calls" if answer.calls else "stop")]
    delta = {
        "type": "message_delta",
        "delta": {"stop_reason": finish, "stop_sequence": None},
        "usage": {"output_tokens": usage["output_tokens"]},
    }
    return events, [delta, {"type": "message_stop"}]


def _anthropic_usage(usage: dict[str, int]) -> dict[str, int]:
    read, written = usage.get("cache_read", 0), usage.get("cache_write", 0)
    return {
        "input_tokens": usage["input"] - read - written,
        "output_tokens": usage["output"],
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": written,
    }


def _anthropic_blocks(answer: Answer) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Each content block as its opening and its deltas."""
    if answer.reasoning:
        deltas = [{"type": "thinking_delta", "thinking": text} for text in answer.reasoning]
        yield {"type": "thinking", "thinking": "", "signature": ""}, deltas
    for block in answer.thinking:
        if block["type"] == "redacted_thinking":
            yield block, []
            continue
        deltas = [{"type": "thinking_delta", "thinking": part} for part in pieces(block["thinking"], 2) if part]
        signed = {"type": "signature_delta", "signature": block["signature"]}
        yield {"type": "thinking", "thinking": "", "signature": ""}, [*deltas, signed]
    if texts := _texts(answer):
        yield {"type": "text", "text": ""}, [{"type": "text_delta", "text": text} for text in texts]
    for index, call in enumerate(answer.calls):
        deltas = [{"type": "input_json_delta", "partial_json": part} for part in pieces(call.arguments, call.pieces)]
        yield {"type": "tool_use", "id": call.id or f"call_{index}", "name": call.name, "input": {}}, deltas


def _anthropic_block(index: int, opening: dict[str, Any], deltas: Iterable[dict[str, Any]]) -> list[Event]:
    return [
        {"type": "content_block_start", "index": index, "content_block": opening},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def refusal(path: str, body: dict[str, Any]) -> str | None:
    """What a strict provider would say to this request, or null when nothing is wrong with it."""
    check = _anthropic_refusal if path.endswith("/messages") else _openai_refusal
    return next(check(body), None)


def _openai_refusal(body: dict[str, Any]) -> Iterator[str]:
    open_calls: list[str] = []
    for message in body.get("messages", ()):
        role, content = message["role"], message.get("content")
        if role == "tool":
            if message["tool_call_id"] not in open_calls:
                yield f"messages with role 'tool' must answer a preceding call: {message['tool_call_id']}"
            open_calls.remove(message["tool_call_id"])
        elif open_calls:
            yield f"an assistant message with 'tool_calls' must be followed by tool messages: {open_calls}"
        if _empty_text(content) or (content is None and not message.get("tool_calls")):
            yield f"text content must be non-empty ({role})"
        for call in message.get("tool_calls", ()):
            open_calls.append(call["id"])
            if not isinstance(json.loads(call["function"]["arguments"]), dict):
                yield "tool call arguments must be an object"
    if open_calls:
        yield f"an assistant message with 'tool_calls' must be followed by tool messages: {open_calls}"


def _anthropic_refusal(body: dict[str, Any]) -> Iterator[str]:
    expected: list[str] = []
    previous = "assistant"
    for number, message in enumerate(body.get("messages", ())):
        blocks = message["content"] if isinstance(message["content"], list) else []
        results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        if message["role"] not in ("user", "assistant"):
            yield f"messages.{number}: unexpected role {message['role']}"
        if number == 0 and message["role"] != "user":
            yield 'messages: first message must use the "user" role'
        if message["role"] == previous:
            yield f"messages.{number}: roles must alternate"
        if results != expected:
            yield f"messages.{number}: tool_use ids were found without tool_result blocks: {expected} {results}"
        if [block["type"] for block in blocks[: len(results)]] != ["tool_result"] * len(results):
            yield f"messages.{number}: tool_result blocks must come first"
        if _empty_text(message["content"]):
            yield f"messages.{number}: text content blocks must be non-empty"
        expected = [block["id"] for block in blocks if block["type"] == "tool_use"]
        previous = message["role"]
    if expected:
        yield f"messages: tool_use ids were found without tool_result blocks: {expected}"
    if expected_tools := _uses_tools(body):
        yield expected_tools


def _uses_tools(body: dict[str, Any]) -> str | None:
    used = any(
        block["type"] in ("tool_use", "tool_result")
        for message in body.get("messages", ())
        for block in message["content"]
        if isinstance(block, dict)
    )
    return (
        "requests which include `tool_use` or `tool_result` blocks must define tools"
        if used and not body.get("tools")
        else None
    )


def _empty_text(content: Any) -> bool:
    if isinstance(content, list):
        return not content or any(
            block.get("type") == "text" and not str(block.get("text", "")).strip() for block in content
        )
    return isinstance(content, str) and not content.strip()
