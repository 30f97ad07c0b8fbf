"""The todo list of an execution, kept by the model with `write_todos` (T31, T32).

A list is replaced as a whole. Each version is a row of its own, staged while the call runs, so that it lands with the
call's result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agentflow import events
from agentflow.store import rows
from agentflow.text import compact_json
from agentflow.tools.results import ToolResult, refused, success
from agentflow.tools.todo_items import Todo, check_todos
from agentflow.turn.run.execution import Execution

_OPEN = ("in_progress", "pending")


def write_todos(execution: Execution, arguments: Mapping[str, Any], *, streamed: bool) -> ToolResult:
    """Perform a call of `write_todos`; `streamed`: the list is the main agent's, which clients see (T32)."""
    todos = check_todos(arguments)
    if isinstance(todos, str):
        return refused(todos, "invalid_arguments")
    keep(execution, todos, streamed=streamed)
    still_open = sum(todo.status in _OPEN for todo in todos)
    return success(f"The list is kept; open are {still_open} of {len(todos)}.")


def keep(execution: Execution, todos: Sequence[Todo], *, streamed: bool) -> None:
    """Stage a new version of the list, and the event that tells of it."""
    execution.todos = tuple(todos)
    execution.todo_version += 1
    items = [todo.as_dict() for todo in todos]
    execution.stage(
        rows.InsertTodoList(execution.journal.turn, execution.number, execution.todo_version, compact_json(items))
    )
    if streamed:
        execution.tell(events.todo(items, execution.number, execution.todo_version))


def restore(execution: Execution, version: int, items: Sequence[Mapping[str, Any]]) -> None:
    """Have the list of the step before back (T32): `items` as they were stored."""
    execution.todo_version = version
    execution.todos = tuple(Todo(item["content"], item["status"]) for item in items)


def open_todos(todos: Sequence[Todo]) -> str:
    """The items that are still to do, as system text for a model that no longer reads how it wrote them (X4).

    Blank when there are none.
    """
    lines = [f"- [{todo.status}] {todo.content}" for todo in todos if todo.status in _OPEN]
    return "\n".join(["Your todo list for the current request, what is still open of it:", *lines]) if lines else ""
