"""What happened, as a person reads it: a log in short lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from agentflow import Event

_CHARS = 100
_NO_EVENTS = "(no events)"


def short_trace(events: Iterable[Event]) -> str:
    """The events, one line each: number, type and what it is about."""
    return "\n".join(_line(event) for event in events) or _NO_EVENTS


def _line(event: Event) -> str:
    told = _TOLD.get(event.type, _nothing)(event.data)
    shown = " ".join(told.split())
    shown = shown if len(shown) <= _CHARS else shown[:_CHARS] + "…"
    return f"{event.seq or '-':>4}  {event.type:<20} {shown}".rstrip()


def _nothing(data: Mapping[str, Any]) -> str:
    return ""


def _message(data: Mapping[str, Any]) -> str:
    message = data["message"]
    content = message["content"]
    calls = " ".join(f"{call['name']}({call['arguments']})" for call in message.get("tool_calls", ()))
    return f"{message['role']}: {content if isinstance(content, str) else '' if content is None else '[parts]'} {calls}"


def _ended(data: Mapping[str, Any]) -> str:
    return f"{data['name']}: {data.get('result', data.get('error'))}"


def _errored(data: Mapping[str, Any]) -> str:
    error = data.get("error")
    return f"{error['code']}: {error['message']}" if isinstance(error, Mapping) else str(error or "")


_TOLD: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "message.new": _message,
    "step.started": lambda data: f"step {data['order']}",
    "step.completed": lambda data: f"step {data['order']}: {data['state']}",
    "turn.completed": lambda data: str(data.get("state", "")),
    "llm.call.requested": lambda data: f"{data['model']} ({data['purpose']})",
    "llm.call.completed": lambda data: str(data.get("finish_reason", "")),
    "llm.call.errored": _errored,
    "tool.call.requested": lambda data: f"{data['name']}({data['arguments']})",
    "tool.call.completed": _ended,
    "tool.call.errored": _ended,
    "ask_user": lambda data: "; ".join(each["question"] for each in data["questions"]),
    "error": _errored,
    "done": lambda data: str(data.get("answer") or ""),
}
