"""What a model is told of its list once it no longer reads how it wrote it (T32, X4)."""

from __future__ import annotations

from agentflow.tools.todo_items import Todo
from agentflow.turn.run.todos import open_todos


def test_open_items_are_restated_in_order_with_their_status() -> None:
    todos = (Todo("a", "completed"), Todo("b", "in_progress"), Todo("c", "cancelled"), Todo("d", "pending"))
    assert open_todos(todos).splitlines()[1:] == ["- [in_progress] b", "- [pending] d"]


def test_nothing_is_said_when_nothing_is_open() -> None:
    assert open_todos((Todo("a", "completed"), Todo("b", "cancelled"))) == ""
    assert open_todos(()) == ""
