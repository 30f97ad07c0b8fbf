"""What is said to a worker and what it may answer: pure shapes (C31-C33).

request    session_id, decision_id, turn_id, agent_id, trigger, proposed, state, agent, calls, messages, attempts,
           deadline
response   messages?, actions?, state?, agent?         {} = write nothing
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentflow.conversation import wire
from agentflow.conversation.history import replayed_arguments
from agentflow.conversation.state import same_json
from agentflow.errors import InvalidInput, WorkerFailed
from agentflow.message import Message, ToolCall

Action = dict[str, Any]

_RESPONSE = ("messages", "actions", "state", "agent")
# action -> its fields beside `type`
ACTIONS: Mapping[str, tuple[str, ...]] = {
    "llm.call": ("id", "purpose", "messages", "llm", "interface", "model", "prompt", "stream"),
    "context.replace": ("summary", "messages"),
    "tool.call": ("id", "name", "input"),
    "tool.result": ("id", "result"),
    "tool.error": ("id", "error"),
    "ask_user": ("id", "questions"),
    "done": ("data",),
    "fail": ("error",),
}
_REQUIRED = {"tool.result": ("id",), "tool.error": ("id", "error"), "ask_user": ("questions",), "fail": ("error",)}


@dataclass(frozen=True, slots=True)
class Response:
    """`messages` null: none were given. `took` says that messages and actions are those that were proposed."""

    messages: tuple[Message, ...] | None
    actions: tuple[Action, ...]
    state: Any
    agent: dict[str, Any]
    took: bool


def read_response(raw: Any, proposed: Mapping[str, Any]) -> Response:
    """The answer, judged. Raises `WorkerFailed` naming the field."""
    try:
        if not isinstance(raw, Mapping):
            wire.refuse("response", f"must be an object, not {wire.kind_of(raw)}.")
        wire.no_unknown(raw, _RESPONSE, "")
        took = all(same_json(raw.get(name), proposed.get(name)) for name in ("messages", "actions"))
        agent = raw.get("agent")
        given = None if took or raw.get("messages") is None else wire.messages_of(raw["messages"], "messages")
        actions = () if took else _actions(raw.get("actions"))
        return Response(
            given, actions, raw.get("state"), {} if agent is None else wire.json_object(agent, "agent", 1), took
        )
    except InvalidInput as refused:
        raise WorkerFailed(f"The worker's answer cannot be used: {refused.message}", detail=refused.detail) from None


def _actions(value: Any) -> tuple[Action, ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        wire.refuse("actions", f"must be a list, not {wire.kind_of(value)}.")
    return tuple(_action(item, f"actions[{index}]") for index, item in enumerate(value))


def _action(value: Any, field: str) -> Action:
    action = wire.json_object(value, field, 2)
    kind = action.get("type")
    if not isinstance(kind, str) or kind not in ACTIONS:
        wire.refuse(f"{field}.type", f"must be one of {', '.join(ACTIONS)}, not {wire.shown(kind)}.")
    wire.no_unknown(action, ("type", *ACTIONS[kind]), field)
    for name in _REQUIRED.get(kind, ()):
        if action.get(name) is None:
            wire.refuse(f"{field}.{name}", "is required.")
    if kind == "tool.call" and not action.get("id") and not action.get("name"):
        wire.refuse(f"{field}.name", "is required.")
    return action


def call_action(call: ToolCall) -> Action:
    """A call as the action that runs it."""
    return {"type": "tool.call", "id": call.id, "name": call.name, "input": json.loads(replayed_arguments(call))}


def continued(path: Sequence[Message], view: Sequence[Message]) -> tuple[Message, ...] | None:
    """What a view adds at the end of this very path, null when it is another path."""
    known = len(path)
    if len(view) < known or any(a.id != b.id for a, b in zip(path, view, strict=False)):
        return None
    return tuple(view[known:])
