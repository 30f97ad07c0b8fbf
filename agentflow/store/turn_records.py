"""What is read of one turn, beside its messages: its todos, its plan, and all its rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Record = dict[str, Any]
"""A row by column."""


@dataclass(frozen=True, slots=True)
class TodoRecord:
    """One version of an execution's todo list; `items` are `{content, status}`."""

    turn: int
    execution: int
    number: int
    items: Sequence[dict[str, str]]


@dataclass(frozen=True, slots=True)
class Planned:
    """What a turn has planned so far. `begun`: it has made a main call, so that its planning is over."""

    plan: str | None
    begun: bool
    todos: TodoRecord | None


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One execution; `parent_call_id` is the call of the parent's run that began it."""

    number: int
    agent: str
    status: str
    parent: int | None
    parent_call_id: str | None


@dataclass(frozen=True, slots=True)
class TurnRows:
    """The rows of one turn by column. `log` has `seq, at, type, ref, data`, `messages` are those it recorded, by id."""

    turn: Record
    steps: Sequence[Record]
    executions: Sequence[Record]
    llm_calls: Sequence[Record]
    tool_calls: Sequence[Record]
    questions: Sequence[Record]
    todo_lists: Sequence[Record]
    log: Sequence[Record]
    messages: dict[str, Any]
