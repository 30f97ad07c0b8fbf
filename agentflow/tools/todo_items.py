"""The items of `write_todos`: which lists are allowed (T31). Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from agentflow.text import one_line

TodoStatus = Literal["pending", "in_progress", "completed", "cancelled"]

STATUSES: tuple[TodoStatus, ...] = get_args(TodoStatus)
MAX_TODOS = 50
MAX_CONTENT = 200

_KEYS = {"content", "status"}


@dataclass(frozen=True, slots=True)
class Todo:
    content: str
    status: TodoStatus

    def as_dict(self) -> dict[str, str]:
        """`{content, status}`, the shape of the `todo` event."""
        return {"content": self.content, "status": self.status}


def check_todos(arguments: Mapping[str, Any]) -> tuple[Todo, ...] | str:
    """The whole new list, or the complaint about the first item that breaks a rule (T31)."""
    items = arguments.get("todos")
    if arguments.keys() != {"todos"} or not isinstance(items, list) or len(items) > MAX_TODOS:
        return f"todos: one list of at most {MAX_TODOS} items is needed"
    for number, item in enumerate(items):
        if complaint := _complaint(item):
            return f"todos.{number}{complaint}"
    todos = tuple(Todo(one_line(item["content"]), item["status"]) for item in items)
    if sum(todo.status == "in_progress" for todo in todos) > 1:
        return "todos: at most one item may be in_progress"
    return todos


def _complaint(item: Any) -> str | None:
    if not isinstance(item, Mapping) or item.keys() != _KEYS:
        return ": must be an object with 'content' and 'status'"
    content = item["content"]
    if not isinstance(content, str) or not 1 <= len(content.strip()) <= MAX_CONTENT:
        return f".content: must be a text of 1 to {MAX_CONTENT} characters"
    if item["status"] not in STATUSES:
        return f".status: must be one of {', '.join(STATUSES)}"
    return None
