"""What goes on in a turn, from its events alone, and how it is told: pure, with the seconds given (B77)."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from .plain import one_line, shortened

Data = dict[str, Any]
Key = tuple[str, str]  # kind and id of something that runs

TOLD_AFTER_SECS = 2.0
FRAMES = "|/-\\"
FRAMES_A_SECOND = 8
MOST_TODOS = 8

_MARKS = {"completed": "[x]", "in_progress": "[>]"}
_PURPOSES = {"summary": "summarizing", "plan": "planning", "title": "naming the session"}
_SUB_AGENT_TOOLS = ("task", "delegate")


@dataclass(frozen=True)
class Running:
    """One thing that runs, in a sentence's words, since a second of the follower's clock."""

    label: str
    since: float


def _model(data: Data) -> str:
    return _PURPOSES.get(data.get("purpose") or "", f"waiting for {data.get('model') or 'the model'}")


def _tool(data: Data) -> str:
    if data["name"] not in _SUB_AGENT_TOOLS:
        return str(data["name"])
    try:
        return f"sub-agent {json.loads(data['arguments'])['agent']}"
    except (ValueError, TypeError, LookupError, RecursionError):  # the model wrote them
        return str(data["name"])


def _retry(data: Data) -> str:
    return f"attempt {data['attempt']} failed ({data['error']}), next in {data['next_secs']:g} s"


def _call(kind: str) -> Callable[[Data], Key]:
    return lambda data: (kind, data.get("call_id") or "")


def _tool_call(data: Data) -> Key:
    return "tool", data["id"]


def _hook(data: Data) -> Key:
    return "hook", f"{data.get('execution', 0)} {data['point']} {data['flow']} {data.get('tool_call_id')}"


def _room(data: Data) -> Key:
    return "room", str(data.get("execution", 0))


def _worker(data: Data) -> Key:
    return "worker", str(data.get("execution", 0))


# event -> what begins with it, and its words
_BEGINS: dict[str, tuple[Callable[[Data], Key], Callable[[Data], str]]] = {
    "llm.call.requested": (_call("model"), _model),
    "model.loading": (_call("loading"), lambda _: "loading litellm"),
    "model.retrying": (_call("retry"), lambda data: f"the model: {_retry(data)}"),
    "worker.retrying": (_worker, lambda data: f"the worker: {_retry(data)}"),
    "tool.call.requested": (_tool_call, _tool),
    "hook.started": (_hook, lambda data: f"{data['point']} hook {data['flow']}"),
    "context.limited": (_room, lambda _: "making room"),
}

# event -> what is over with it
_ENDS: dict[str, tuple[Callable[[Data], Key], ...]] = {
    "llm.delta": (_call("loading"), _call("retry")),
    "llm.call.completed": (_call("model"), _call("loading"), _call("retry")),
    "llm.call.errored": (_call("model"), _call("loading"), _call("retry")),
    "model.retrying": (_call("loading"),),
    "tool.call.completed": (_tool_call,),
    "tool.call.errored": (_tool_call,),
    "call.voided": (_tool_call,),
    "hook.completed": (_hook,),
    "context.replaced": (_room,),
    "context.kept": (_room,),
}


class Activity:
    """What runs, the todo list, and whether the model speaks to the user now."""

    def __init__(self) -> None:
        self.running: dict[Key, Running] = {}
        self.todos: list[Data] = []
        self.speaking: str | None = None  # the model call whose text comes in
        self._told: set[Key] = set()

    def event(self, type_: str, data: Data, now: float, *, logged: bool) -> None:
        """One event of the turn; `logged` is whether it has a number, which an attempt that failed has not."""
        if logged:
            self.running.pop(_worker(data), None)
        for ended in _ENDS.get(type_, ()):
            self.running.pop(ended(data), None)
        if type_ in _BEGINS:
            key, words = _BEGINS[type_][0](data), _BEGINS[type_][1](data)
            inner = "in a sub-agent: " if "execution" in data else ""
            self.running[key] = Running(one_line(inner + words), now)
        if type_ == "llm.delta":
            self._delta(data)
        elif type_ == "todo" and "execution" not in data:
            self.todos = list(data["todos"])
        elif type_ == "done":
            self.running.clear()
            self.speaking = None
        elif type_ in ("llm.call.completed", "llm.call.errored") and data["call_id"] == self.speaking:
            self.speaking = None

    def _delta(self, data: Data) -> None:
        key = _call("model")(data)
        if key in self.running:
            label = self.running[key].label.replace("waiting for", "an answer comes from")
            self.running[key] = replace(self.running[key], label=label)
        if data.get("text") and "purpose" not in data and ("execution" not in data or data.get("heard")):
            self.speaking = data["call_id"]

    def lines(self, now: float, width: int) -> list[str]:
        """What a terminal of this width shows: todos, and what runs with its seconds; nothing when nothing runs."""
        if not self.running:
            return []
        doing = ", ".join(f"{each.label} {max(0, now - each.since):.0f} s" for each in self.running.values())
        todos = [f"{_MARKS.get(each['status'], '[ ]')} {one_line(each['content'])}" for each in self.todos]
        more = [f"... {len(todos) - MOST_TODOS} more"] if len(todos) > MOST_TODOS else []
        spinner = FRAMES[int(now * FRAMES_A_SECOND) % len(FRAMES)]
        return [shortened(line, width - 1) for line in (*todos[:MOST_TODOS], *more, f"{spinner} {doing}")]

    def slow(self, now: float) -> list[str]:
        """A line for each thing that has taken longer than two seconds and was not told yet."""
        late = {
            key: each
            for key, each in self.running.items()
            if now - each.since > TOLD_AFTER_SECS and key not in self._told
        }
        self._told |= late.keys()
        return [f"still going on after {TOLD_AFTER_SECS:g} s: {each.label}" for each in late.values()]
