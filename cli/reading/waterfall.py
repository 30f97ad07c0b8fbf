"""A trace as text: one line for each thing that happened, indented under what caused it, with the seconds since the
turn began in front.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

Node = dict[str, Any]

_CHARS = 100
_NO_TIME = " " * 10


def waterfall(trace: dict[str, Any]) -> Iterator[str]:
    """The lines of a trace as `Runtime.trace` gives it."""
    began = datetime.fromisoformat(trace["started_at"])
    yield " · ".join(_said(f"turn {trace['turn']}", trace["turn_id"], _state(trace), _spent(trace)))
    main = ", ".join(_said(*_run(trace["executions"][0]))) if trace["executions"] else "nothing is left of its run"
    yield f"began {trace['started_at']}, configuration {trace['config_hash'][:12]}, {main}"
    if trace["error"]:
        yield f"error ({trace['error']['code']}): {_short(trace['error']['message'])}"
    if trace["plan"]:
        yield from ("plan", *(f"  {line}" for line in trace["plan"].splitlines()))
    for step in trace["steps"]:
        changed = "the configuration has changed" if step["config_changed"] else None
        yield " · ".join(_said(f"step {step['order']}", step["state"], changed, _rated(step["feedback"])))
        yield from _lines(step["nodes"], began, 1)
    if trace["naming"]:
        yield "after the turn"
        yield from _lines(trace["naming"], began, 1)
    if trace["todos"]:
        yield from ("todos", *(f"  [{todo['status']}] {todo['content']}" for todo in trace["todos"]))


def _run(run: Node) -> list[str | None]:
    return [f"{run['agent']} {run['status']}", _milliseconds(run["duration_ms"])]


def _rated(feedback: Node | None) -> str | None:
    return None if feedback is None else ": ".join(_said(f"rated {feedback['rating']}", feedback["comment"]))


def _state(trace: Node) -> str:
    limit = f" at its limit {trace['limit']}" if trace["limit"] else ""
    by = f" ({trace['ended_by']})" if trace["ended_by"] else ""
    return f"{trace['state']}{limit}{by}"


def _lines(nodes: list[Node], began: datetime, depth: int) -> Iterator[str]:
    for node in _with_hooks(nodes):
        at = node.get("at") or node.get("started_at")
        since = f"{(datetime.fromisoformat(at) - began).total_seconds():+9.3f}s" if at else _NO_TIME
        text = " · ".join(_said(*_PARTS[node["kind"]](node)))
        yield f"{since}{'  ' * depth}{text}"
        inner = [*node.get("tools", ()), *([node["execution"]] if "execution" in node else ())]
        yield from _lines([*inner, *node.get("nodes", ())], began, depth + 1)


def _with_hooks(nodes: list[Node]) -> Iterator[Node]:
    """The nodes, each tool call between its hooks."""
    for node in nodes:
        hooks = node.get("hooks", ())
        yield from (hook for hook in hooks if hook["point"] == "pre_tool")
        yield node
        yield from (hook for hook in hooks if hook["point"] != "pre_tool")


def _model_call(node: Node) -> list[str | None]:
    name = f"model call {node['iteration']}" if node["purpose"] == "main" else node["purpose"]
    first = node["first_token_ms"]
    return [
        name,
        node["model"],
        *(f"not {each['model']}: {each['reason']}" for each in node["passed_over"]),
        None if node["status"] == "completed" else node["status"],
        _spent(node),
        _milliseconds(node["duration_ms"]),
        None if first is None else f"first token after {_milliseconds(first)}",
        f"request {node['number'] or node['call_id']}",
        f"{node['attempts']} attempts" if (node["attempts"] or 1) > 1 else None,
        _finish(node["finish_reason"], node["finish_word"]),
        ": ".join(_said(node["error"]["code"], _short(node["error"].get("message") or ""))) if node["error"] else None,
    ]


_UNUSUAL = {"length": "cut at the output limit", "refusal": "refused", "content_filter": "withheld by a filter"}


def _finish(reason: str | None, word: str | None) -> str | None:
    """How a reply ended, with the provider's own word where that is another, unless it ended as most do."""
    said = _UNUSUAL.get(reason or "")
    return f"{said} ({word})" if said and word and word != reason else said


def _tool_call(node: Node) -> list[str | None]:
    return [
        f"{node['name']}({_short(node['arguments'] or '')})",
        node["status"],
        _milliseconds(node["duration_ms"]),
        f"= {_short(node['result'])}" if node["result"] else None,
        "result was cut for the model" if node["cut"] else None,
        "text was altered" if node["altered"] else None,
    ]


def _question(node: Node) -> list[str | None]:
    asked = "; ".join(f"{each['header']}: {each['question']}" for each in node["questions"])
    waited = None
    if node["answered_at"]:
        times = (datetime.fromisoformat(node[key]) for key in ("at", "answered_at"))
        began, ended = times
        waited = f"waited {(ended - began).total_seconds():.1f} s"
    return [
        f"question {_short(asked)}",
        node["state"],
        waited,
        f"= {_short(node['answer'])}" if node["answer"] else None,
    ]


def _client_tools(node: Node) -> list[str | None]:
    return [f"waits for its client: {', '.join(call['name'] for call in node['calls'])}", node["state"]]


def _todos(node: Node) -> list[str | None]:
    done = sum(todo["status"] in ("completed", "cancelled") for todo in node["todos"])
    doing = next((todo["content"] for todo in node["todos"] if todo["status"] == "in_progress"), None)
    return [f"todos {done}/{len(node['todos'])}", None if doing is None else _short(doing)]


def _hook(node: Node) -> list[str | None]:
    outcome = None if node["outcome"] == "ok" else node["outcome"]
    error = f"error: {_short(node['error'])}" if node["error"] else None
    return [f"hook {node['flow']} at {node['point']}", outcome, _milliseconds(node["duration_ms"]), error]


def _execution(node: Node) -> list[str | None]:
    return [f"agent {node['agent']}", node["status"], _milliseconds(node["duration_ms"])]


def _event(node: Node) -> list[str | None]:
    data = ", ".join(f"{key} {value}" for key, value in (node["data"] or {}).items())
    return [node["type"], _short(data)]


_PARTS: dict[str, Callable[[Node], list[str | None]]] = {
    "model_call": _model_call,
    "tool_call": _tool_call,
    "question": _question,
    "client_tools": _client_tools,
    "todos": _todos,
    "execution": _execution,
    "hook": _hook,
    "event": _event,
}


def _spent(node: Node) -> str | None:
    tokens = node["tokens"]
    counted = None if tokens["input"] is None else f"{tokens['input']}+{tokens['output'] or 0} tokens"
    return ", ".join(_said(counted, None if node["cost"] is None else f"${node['cost']}")) or None


def _milliseconds(value: int | None) -> str | None:
    if value is None:
        return None
    return f"{value} ms" if value < 1000 else f"{value / 1000:.1f} s"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _CHARS else line[: _CHARS - 1] + "…"


def _said(*parts: str | None) -> list[str]:
    return [part for part in parts if part]
