"""The items of a plan (T33)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentflow.tools.todo_items import Todo, check_todos
from agentflow.turn.loop.planner import plan_items


@pytest.mark.parametrize(
    ("plan", "contents"),
    [
        ("1. Look\n2. Say", ["Look", "Say"]),
        ("1) Look\n2) Say", ["Look", "Say"]),
        ("- Look\n* Say\n• Write", ["Look", "Say", "Write"]),
        ("- [ ] Look\n- [x] Say", ["Look", "Say"]),
        ("The plan:\n\n1. Look  \n   carefully\n2. Say\nThat is all.", ["Look", "Say"]),
        ("  1. Look\n     - at this\n", ["Look", "at this"]),
        ("Just answer.", []),
        ("1.5 litres are needed\n-5 degrees", []),
        ("", []),
    ],
)
def test_the_lines_of_a_list_are_its_items(plan: str, contents: list[str]) -> None:
    assert plan_items(plan) == tuple(Todo(content, "pending") for content in contents)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.text(max_size=300), max_size=80))
def test_whatever_is_planned_the_todos_keep_their_rules(lines: list[str]) -> None:
    """T31: at most 50 items of 1 to 200 characters."""
    todos = plan_items("\n".join(f"{number}. {line}" for number, line in enumerate(lines, 1)))
    assert check_todos({"todos": [todo.as_dict() for todo in todos]}) == todos
