"""What a client asks with one run, and what is to be done for it. Pure: how the session stands is given (G1, G4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ag_ui.core import ResumeEntry, RunAgentInput

from agentflow import InvalidInput
from agentflow.server.agui.messages import ours, text_of
from agentflow.server.encoding import json_bytes

_OURS = {"queue": bool, "interrupt": bool, "limits": dict, "inputs": dict, "stop_on_disconnect": bool}
"""What of `forwardedProps` is meant for the server, with its type; the rest is the client's own."""


@dataclass(frozen=True, slots=True)
class Props:
    """What `forwardedProps` says to the server."""

    queue: bool = False
    interrupt: bool = False
    stop_on_disconnect: bool = False


@dataclass(frozen=True, slots=True)
class Nothing:
    """The view holds no message: no turn runs."""


@dataclass(frozen=True, slots=True)
class Known:
    """A resume for what is no longer asked, with nothing new beside it; `call_id` is what it names."""

    call_id: str


@dataclass(frozen=True, slots=True)
class Hand:
    """An input for the session."""

    given: dict[str, Any]


Plan = Nothing | Known | Hand


def props_of(asked: RunAgentInput) -> Props:
    """Raises `InvalidInput` for a value of another type."""
    said = _props(asked)
    return Props(**{name: said[name] for name in ("queue", "interrupt", "stop_on_disconnect") if name in said})


def plan(asked: RunAgentInput, agent: str, status: Mapping[str, Any] | None) -> Plan:
    """What is to be done; `status` is the session's, null for a new one. Raises `InvalidInput` naming the field."""
    said, view = _props(asked), ours(asked.messages)
    if not view and not asked.resume:
        return Nothing()
    pending = None if status is None or not status["pending"] else status
    options = _options(asked, agent, said)
    if pending is not None and pending["pending_kind"] == "questions":
        answers = _answers(asked, view, pending["tool_call_id"])
        if answers is not None:
            return Hand(_answer(options, view, pending["tool_call_id"], answers))
    view = _with_results(view, asked.resume or (), pending)
    if asked.resume and not _has_news(view):
        return Known(asked.resume[0].interrupt_id)
    if said.get("queue"):
        return Hand({**options, "type": "client.append", "messages": _news(view), "queue": True})
    interrupts = {"interrupt": True} if said.get("interrupt") else {}
    return Hand({**options, "type": "client.messages", "messages": view, **interrupts})


def _props(asked: RunAgentInput) -> dict[str, Any]:
    said = asked.forwarded_props if isinstance(asked.forwarded_props, dict) else {}
    for name, kind in _OURS.items():
        if name in said and not isinstance(said[name], kind):
            field = f"forwardedProps.{name}"
            raise InvalidInput(f"{field}: must be {_WORDS[kind]}.", detail={"field": field})
    return said


_WORDS = {bool: "true or false", dict: "an object"}


def _options(asked: RunAgentInput, agent: str, said: Mapping[str, Any]) -> dict[str, Any]:
    tools = [
        {"name": tool.name, "description": tool.description, "parameters": tool.parameters or {"type": "object"}}
        for tool in asked.tools or ()
    ]
    client = {
        "state": asked.state,
        "context": [each.model_dump(exclude_none=True) for each in asked.context or ()],
        "forwarded_props": asked.forwarded_props,
    }
    return {
        "agent_id": agent,
        "turn_id": asked.run_id,
        "client": {name: value for name, value in client.items() if value},
        **({"tools": tools} if tools else {}),
        **{name: said[name] for name in ("limits", "inputs") if name in said},
    }


def _answers(asked: RunAgentInput, view: Sequence[Mapping[str, Any]], call_id: str) -> Any:
    """The answer to the pending question, null when there is none: a resume's, else that of a tool message (G4)."""
    for entry in asked.resume or ():
        if entry.interrupt_id == call_id:
            return _payload(entry)
    return next((text_of(each["content"]) for each in view if each.get("tool_call_id") == call_id), None)


def _payload(entry: ResumeEntry) -> Any:
    if entry.status == "cancelled" or entry.payload is None:
        return ""
    if isinstance(entry.payload, str | dict):
        return entry.payload
    raise InvalidInput("resume.payload: must be a text, or answers by header.", detail={"field": "resume.payload"})


def _answer(options: dict[str, Any], view: list[dict[str, Any]], call_id: str, answers: Any) -> dict[str, Any]:
    given = {**options, "type": "ask_user.answer", "tool_call_id": call_id, "answers": answers}
    words = [message for message in _after_call(view, call_id) if message["role"] == "user"]
    return {**given, "follow_up": words} if words else given


def _after_call(view: list[dict[str, Any]], call_id: str) -> list[dict[str, Any]]:
    """The messages behind the reply that made the call."""
    for index, message in enumerate(view):
        if any(call["id"] == call_id for call in message.get("tool_calls") or ()):
            return view[index + 1 :]
    return []


def _with_results(
    view: list[dict[str, Any]], resume: Sequence[ResumeEntry], pending: Mapping[str, Any] | None
) -> list[dict[str, Any]]:
    """The view with what a resume says of the client's tools as their results; of two for one call the resume's."""
    open_calls = {call["tool_call_id"] for call in (pending or {}).get("calls") or ()}
    said = {entry.interrupt_id: _result(entry) for entry in resume if entry.interrupt_id in open_calls}
    if not said:
        return view
    kept = [message for message in view if message.get("tool_call_id") not in said]
    place = 1 + max(
        (at for at, message in enumerate(kept) if message["role"] == "tool" or message.get("tool_calls")), default=-1
    )
    results = [{"role": "tool", "tool_call_id": call_id, **result} for call_id, result in said.items()]
    return [*kept[:place], *results, *kept[place:]]


def _result(entry: ResumeEntry) -> dict[str, Any]:
    if entry.status == "cancelled":
        return {"content": "The client has cancelled the call.", "error": True}
    payload = entry.payload
    if isinstance(payload, str):
        return {"content": payload}
    return {"content": json_bytes(payload).decode()}


def _news(view: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The user's words at the end of a view."""
    at = len(view)
    while at and view[at - 1]["role"] == "user":
        at -= 1
    return view[at:]


def _has_news(view: list[dict[str, Any]]) -> bool:
    return bool(view) and view[-1]["role"] in ("user", "tool")
