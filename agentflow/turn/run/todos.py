"""The todo list of an execution, kept by the model with `write_todos` (T31, T32).

A list is replaced as a whole. Each version is a row of its own, staged while the call runs, so that it lands with the
call's result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agentflow import events
from agentflow.store.rows import inserts
from agentflow.text import compact_json
from agentflow.tools.results import ToolResult, refused, success
from agentflow.tools.todo_items import Todo, check_todos
from agentflow.turn.run.staging import Staging

_OPEN = ("in_progress", "pending")


class TodoList:
    """The newest version of the list of execution `execution`."""

    def __init__(self, staging: Staging, turn: int, execution: int) -> None:
        self.items: tuple[Todo, ...] = ()
        self._version = 0
        self._staging = staging
        self._turn = turn
        self._execution = execution

    def write(self, arguments: Mapping[str, Any], *, streamed: bool) -> ToolResult:
        """Perform a call of `write_todos`; `streamed`: the list is the main agent's, which clients see (T32)."""
        todos = check_todos(arguments)
        if isinstance(todos, str):
            return refused(todos, "invalid_arguments")
        self.keep(todos, streamed=streamed)
        still_open = sum(todo.status in _OPEN for todo in todos)
        return success(f"The list is kept; open are {still_open} of {len(todos)}.")

    def keep(self, todos: Sequence[Todo], *, streamed: bool) -> None:
        """Stage a new version of the list, and the event that tells of it."""
        self.items = tuple(todos)
        self._version += 1
        items = [todo.as_dict() for todo in todos]
        self._staging.add(inserts.InsertTodoList(self._turn, self._execution, self._version, compact_json(items)))
        if streamed:
            self._staging.tell(events.todo(items, self._execution, self._version))

    def restore(self, version: int, items: Sequence[Mapping[str, Any]]) -> None:
        """Have the list of the step before back (T32): `items` as they were stored."""
        self._version = version
        self.items = tuple(Todo(item["content"], item["status"]) for item in items)


def open_todos(todos: Sequence[Todo]) -> str:
    """The items that are still to do, as system text for a model that no longer reads how it wrote them (X4).

    Blank when there are none.
    """
    lines = [f"- [{todo.status}] {todo.content}" for todo in todos if todo.status in _OPEN]
    return "\n".join(["Your todo list for the current request, what is still open of it:", *lines]) if lines else ""
