"""T31: which todo lists are allowed."""

from typing import Any

import pytest

from agentflow.tools.todo_items import STATUSES, Todo, check_todos


def items(*pairs: tuple[Any, Any]) -> dict[str, Any]:
    return {"todos": [{"content": content, "status": status} for content, status in pairs]}


def test_a_list_is_read_in_order() -> None:
    assert check_todos(items((" a ", "completed"), ("b", "in_progress"), ("c", "pending"), ("d", "cancelled"))) == (
        Todo("a", "completed"),
        Todo("b", "in_progress"),
        Todo("c", "pending"),
        Todo("d", "cancelled"),
    )


@pytest.mark.parametrize("arguments", [{"todos": []}, items(*[("x" * 200, "pending")] * 50)])
def test_the_limits_themselves_are_allowed(arguments: dict[str, Any]) -> None:
    assert isinstance(check_todos(arguments), tuple)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({}, "todos: one list"),
        ({"todos": "x"}, "todos: one list"),
        ({"todos": [], "note": "x"}, "todos: one list"),
        (items(*[("x", "pending")] * 51), "at most 50"),
        ({"todos": ["x"]}, "todos.0: must be an object"),
        ({"todos": [{"content": "x"}]}, "todos.0: must be an object"),
        ({"todos": [{"content": "x", "status": "pending", "id": 1}]}, "todos.0: must be an object"),
        (items(("a", "pending"), ("  ", "pending")), "todos.1.content"),
        (items(("x" * 201, "pending")), "todos.0.content: must be a text of 1 to 200"),
        (items((5, "pending")), "todos.0.content"),
        (items(("a", "done")), "todos.0.status: must be one of pending, in_progress"),
        (items(("a", ["pending"])), "todos.0.status"),
        (items(("a", "in_progress"), ("b", "in_progress")), "at most one item may be in_progress"),
    ],
)
def test_a_broken_rule_is_told_with_its_place(arguments: dict[str, Any], complaint: str) -> None:
    result = check_todos(arguments)
    assert isinstance(result, str)
    assert complaint in result


def test_an_item_is_shown_as_it_was_written() -> None:
    assert Todo("a", "pending").as_dict() == {"content": "a", "status": "pending"}
    assert STATUSES == ("pending", "in_progress", "completed", "cancelled")
