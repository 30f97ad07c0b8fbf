"""One value of a column: whether it is what the column may hold, by its kind, its words and its shape."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from agentflow.store.damage.words import SHAPES, WORDS
from agentflow.store.portable import Column
from agentflow.text import sanitise, sanitise_json

MAX_NUMBER = 2**30
"""What an `int` may count to, so that a session can go on counting in every database."""
MAX_INSTANT = 2**57
"""Microseconds since 1970, to the year 6536."""


def misfit(table: str, column: Column, value: Any) -> str | None:
    """What the value would have to be, in words; null when it is. Flags are bools, JSON is read."""
    if value is None and column.optional:
        return None
    test, what = _KINDS[column.kind]
    if not test(value):
        return what
    words = WORDS.get((table, column.name))
    if words is not None and value not in words:
        return f"one of {', '.join(sorted(words))}"
    shape = SHAPES.get((table, column.name))
    return None if shape is None or shape[0](value) else shape[1]


def _is_int(value: Any, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < most


def _is_clean(value: Any) -> bool:
    return bool(sanitise_json(value) == value)


# kind -> its test, and what it is in words
_KINDS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "int": (lambda value: _is_int(value, MAX_NUMBER), f"a whole number from 0 to {MAX_NUMBER - 1}"),
    "instant": (lambda value: _is_int(value, MAX_INSTANT), "microseconds since 1970, a whole number"),
    "text": (lambda value: isinstance(value, str) and sanitise(value) == value, "a text without NUL or half pairs"),
    "flag": (lambda value: isinstance(value, bool), "true or false"),
    "bytes": (lambda value: isinstance(value, bytes) and bool(value), "bytes"),
    "object": (lambda value: isinstance(value, dict) and _is_clean(value), "an object"),
    "list": (lambda value: isinstance(value, list) and _is_clean(value), "a list"),
    "json": (_is_clean, "JSON without NUL or half pairs in its texts"),
}
