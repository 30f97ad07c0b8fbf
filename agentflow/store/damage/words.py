"""Which words a column may hold, which counter of the session its numbers stay below, which shape its text has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, get_args

from agentflow import events
from agentflow.message import ExecutionStatus, Purpose, Role, ToolCallStatus, TurnState, WrittenAs
from agentflow.store.records import AGENT, STARTED, STATE

_LONGEST_COST = 100
_LOGGED = frozenset(value for name, value in vars(events).items() if name.isupper() and isinstance(value, str))

# table, column -> the words
WORDS: Mapping[tuple[str, str], frozenset[str]] = {
    ("turn", "state"): frozenset(TurnState),
    ("session_stats", "state"): frozenset(TurnState),
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


def _is_cost(value: Any) -> bool:
    try:
        return Decimal(value).is_finite() and len(value) < _LONGEST_COST
    except InvalidOperation:
        return False


def _is_error(value: Any) -> bool:
    return isinstance(value.get("code"), str) and isinstance(value.get("message"), str)


def _are_counts(value: Any) -> bool:
    """Sums of calls, by the name of a model or a tool."""
    return isinstance(value, dict) and all(
        isinstance(sums, dict) and all(name == "cost" or _is_count(count) for name, count in sums.items())
        for sums in value.values()
    )


def _is_count(value: Any) -> bool:
    return value is None or (isinstance(value, int) and not isinstance(value, bool))


def _is_owner(value: str) -> bool:
    """Host, boot, namespace, pid, start time and token (T27)."""
    parts = value.split("|")
    return len(parts) == 6 and parts[3].isdigit() and len(parts[3]) < 12


_COST = (_is_cost, "a decimal")
_ERROR = (_is_error, "an object with code and message")
_COUNTS = (_are_counts, "an object of sums by name")

# table, column -> what its JSON or its text must be, as a test and in words
SHAPES: Mapping[tuple[str, str], tuple[Callable[[Any], bool], str]] = {
    ("message", "calls"): (_are_calls, "a list of [id, name, arguments], three texts each"),
    ("message", "parts"): (_are_parts, "a list of objects with a type"),
    ("question", "questions"): (lambda value: isinstance(value, list), "a list"),
    ("todo_list", "items"): (_are_items, "a list of objects of texts"),
    ("session", "owner"): (_is_owner, "the name of a process"),
    ("turn", "cost"): _COST,
    ("llm_call", "cost"): _COST,
    ("session_stats", "cost"): _COST,
    ("turn", "error"): _ERROR,
    ("llm_call", "error"): _ERROR,
    ("session_stats", "models"): _COUNTS,
    ("session_stats", "tools"): _COUNTS,
}
