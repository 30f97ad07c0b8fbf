"""Which words a column may hold, which counter of the session its numbers stay below, which shape its JSON has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, get_args

from agentflow import events
from agentflow.message import ExecutionStatus, Purpose, Role, ToolCallStatus, TurnState, WrittenAs
from agentflow.store.records import AGENT, STARTED, STATE

_LOGGED = frozenset(value for name, value in vars(events).items() if name.isupper() and isinstance(value, str))

# table, column -> the words
WORDS: Mapping[tuple[str, str], frozenset[str]] = {
    ("turn", "state"): frozenset(TurnState),
    ("execution", "status"): frozenset(ExecutionStatus),
    ("tool_call", "status"): frozenset(ToolCallStatus),
    ("message", "role"): frozenset(get_args(Role)),
    ("message", "written_as"): frozenset(get_args(WrittenAs)),
    ("llm_call", "purpose"): frozenset(get_args(Purpose)),
    ("llm_call", "status"): frozenset({"requested", "completed", "errored", "aborted"}),
    ("event", "type"): _LOGGED,
    ("alias", "kind"): frozenset({"turn", "message"}),
    ("state_version", "kind"): frozenset({STATE, AGENT, STARTED}),
    ("question", "kind"): frozenset({"questions", "tools", "approval"}),
    ("feedback", "rating"): frozenset({"up", "down", "1", "2", "3", "4", "5"}),
}

# column -> the session's counter; 0 is the number of none
COUNTED_BY: Mapping[str, str] = {
    "turn": "turns", "step": "steps", "execution": "executions", "branch": "branches",
    "seq": "seq", "after_seq": "seq",
}  # fmt: skip


def _are_texts(value: Any, count: int) -> bool:
    return isinstance(value, list) and len(value) == count and all(isinstance(each, str) for each in value)


def _are_objects(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, dict) for each in value)


def _are_calls(value: Any) -> bool:
    return bool(value) and all(_are_texts(each, 3) for each in value)


def _are_parts(value: Any) -> bool:
    return _are_objects(value) and all(isinstance(each.get("type"), str) for each in value)


def _are_items(value: Any) -> bool:
    return _are_objects(value) and all(isinstance(text, str) for each in value for text in each.values())


# table, column -> what its JSON must be, as a test and in words
SHAPES: Mapping[tuple[str, str], tuple[Callable[[Any], bool], str]] = {
    ("message", "calls"): (_are_calls, "a list of [id, name, arguments], three texts each"),
    ("message", "parts"): (_are_parts, "a list of objects with a type"),
    ("question", "questions"): (lambda value: isinstance(value, list), "a list"),
    ("todo_list", "items"): (_are_items, "a list of objects of texts"),
}
