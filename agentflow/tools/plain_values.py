"""What a flow returned, as JSON: the value itself, or a clear complaint; never a repr, never silently less. Pure.

`PlainValues` goes through a value once. What has no JSON of its own is known by its shape, not by its library: numpy,
pandas and pydantic are never imported here.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import AsyncIterable, Iterable, Iterator, Mapping
from datetime import date, time
from enum import Enum
from inspect import isawaitable
from io import IOBase
from typing import Any

from agentflow.bounds.weight import is_light

MAX_LEVELS = 64
MAX_ITEMS = 100_000  # of what is only known by going through it
MAX_CHARS = 5_000_000

_SCALARS = (str, int, float, bool, type(None))


class Unreadable(Exception):
    """A value a model cannot be given."""


_WRITER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def dumped(value: Any) -> str:
    """Compact JSON in the author's own key order; of a heavy value in small steps, which hold nobody (Z3)."""
    return _WRITER.encode(value) if is_light(value) else "".join(_WRITER.iterencode(value))


def is_plain(value: Any, level: int = 0) -> bool:
    """Whether JSON has all of it, nested no deeper than is stored."""
    kind = type(value)
    if kind in (str, int, bool, type(None)):
        return True
    if kind is float:
        return math.isfinite(value)
    if level >= MAX_LEVELS:
        return False
    if kind is dict:
        return all(type(key) is str and is_plain(item, level + 1) for key, item in value.items())
    return kind in (list, tuple) and all(is_plain(item, level + 1) for item in value)


class PlainValues:
    """One value on its way to JSON; `notes` say what had to be changed in it, for whoever reads the result."""

    def __init__(self) -> None:
        self._numbers = 0
        self._cut_at: int | None = None

    @property
    def notes(self) -> list[str]:
        notes = []
        if self._numbers:
            are = "value is no number (NaN, infinite, missing) and is" if self._numbers == 1 else (
                "values are no numbers (NaN, infinite, missing) and are"
            )  # fmt: skip
            notes.append(f"{self._numbers} {are} given as null")
        if self._cut_at is not None:
            notes.append(f"only the first {self._cut_at} items were read, there are more")
        return notes

    def of(self, value: Any, level: int = 0) -> Any:
        """The value in what JSON has. Raises `Unreadable`, and whatever the value's own code raises."""
        if level > MAX_LEVELS:
            raise Unreadable(f"the flow returned a value nested more than {MAX_LEVELS} levels deep, or in itself")
        if isinstance(value, Enum):
            return self.of(value.value, level)
        if isinstance(value, float):
            return self._finite(float(value))
        if isinstance(value, _SCALARS):
            return value
        if isinstance(value, Mapping):
            return self._mapping(value, level)
        if isinstance(value, list | tuple):
            return [self.of(item, level + 1) for item in value]
        return self._other(value, level)

    def _finite(self, number: float) -> float | None:
        if math.isfinite(number):
            return number
        self._numbers += 1
        return None

    def _mapping(self, value: Mapping[Any, Any], level: int) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for key, item in value.items():
            name = _key(key)
            if name in made:
                raise Unreadable(f"the flow returned two keys that are both written {name!r}; make them differ as text")
            made[name] = self.of(item, level + 1)
        return made

    def _other(self, value: Any, level: int) -> Any:
        _refuse_what_is_no_value(value)
        if _is_missing(value):
            return self._finite(math.nan)
        if (found := _own_form(value)) is not None:
            return self.of(found[0], level)
        if isinstance(value, set | frozenset):
            return [self.of(item, level + 1) for item in _in_order(value)]
        if isinstance(value, Iterable):
            return self._read_through(iter(value), level)
        if _has_no_text(value):
            raise Unreadable(
                f"the flow returned a {type(value).__name__}, which has no JSON; return text, a number, a dict, "
                "a list, a dataclass or a pydantic model"
            )
        return str(value)

    def _read_through(self, items: Iterator[Any], level: int) -> list[Any]:
        """What an iterator gives, up to as much as a result may hold."""
        read: list[Any] = []
        chars = 0
        for item in items:
            if len(read) >= MAX_ITEMS or chars > MAX_CHARS:
                self._cut_at = len(read)
                break
            read.append(self.of(item, level + 1))
            chars += len(dumped(read[-1])) + 1
        return read


def _refuse_what_is_no_value(value: Any) -> None:
    if isinstance(value, bytes | bytearray | memoryview):
        raise Unreadable(f"the flow returned {len(value)} bytes; a flow returns text or JSON values")
    if isawaitable(value):
        if (close := getattr(value, "close", None)) is not None:
            close()
        raise Unreadable("the flow returned an awaitable; declare the flow with `async def`")
    if isinstance(value, AsyncIterable):
        raise Unreadable("the flow returned an async iterator; collect it with `async for` and return the list")
    if isinstance(value, IOBase):
        raise Unreadable("the flow returned an open file; return what is read from it")


def _has_no_text(value: Any) -> bool:
    """Whether its text would only be the repr that every object has."""
    own_text: Any = type(value).__str__
    return own_text is object.__str__ or isinstance(value, type)


def _is_missing(value: Any) -> bool:
    """The dates and values a data frame does not have."""
    return type(value).__name__ == "NAType" or (not hasattr(value, "__len__") and bool(value != value))


def _own_form(value: Any) -> tuple[Any] | None:
    """The value in simpler terms, by the method its kind has for that; null when it has none."""
    if isinstance(value, date | time):
        return (value.isoformat(),)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return ({field.name: getattr(value, field.name) for field in dataclasses.fields(value)},)
    kind = type(value)
    if hasattr(kind, "model_dump"):  # pydantic
        return (value.model_dump(mode="json"),)
    if hasattr(kind, "__attrs_attrs__"):
        return ({field.name: getattr(value, field.name) for field in kind.__attrs_attrs__},)
    if hasattr(kind, "to_dict") and hasattr(kind, "iterrows"):
        return (_rows(value),)
    if hasattr(kind, "to_dict") and hasattr(kind, "to_frame"):
        return (_column(value),)
    for method in ("tolist", "to_dicts", "to_list", "_asdict", "isoformat"):  # arrays, frames, rows of databases
        if callable(getattr(kind, method, None)):
            return (getattr(value, method)(),)
    if hasattr(kind, "keys") and hasattr(kind, "__getitem__"):
        return ({key: value[key] for key in value.keys()},)  # noqa: SIM118  # rows go through their values
    return None


def _rows(frame: Any) -> list[dict[Any, Any]]:
    """A data frame as one object a row, its index among the columns where it says something."""
    if not frame.columns.is_unique:
        raise Unreadable("the flow returned a table with two columns of one name; rename one of them")
    if not _only_counts(frame.index):
        frame = frame.reset_index()
    rows: list[dict[Any, Any]] = frame.to_dict("records")
    return rows


def _only_counts(index: Any) -> bool:
    """Whether the index of a table is nothing but the numbers of its rows."""
    return type(index).__name__ == "RangeIndex" and (index.name, index.start, index.step) == (None, 0, 1)


def _column(series: Any) -> Any:
    """A series: a list where its index only counts."""
    if _only_counts(series.index):
        return series.to_list()
    if not series.index.is_unique:
        raise Unreadable("the flow returned a series that has two values under one label; return a list")
    return series.to_dict()


def _in_order(values: Iterable[Any]) -> list[Any]:
    """A set in the same order each time."""
    try:
        return sorted(values)
    except TypeError:
        return sorted(values, key=str)


def _key(key: Any) -> str:
    """A key as JSON has it, text."""
    if isinstance(key, Enum):
        return _key(key.value)
    if isinstance(key, str):
        return str.__str__(key)
    if isinstance(key, date | time):
        return key.isoformat()
    if key is None or isinstance(key, bool | int | float):
        return json.dumps(key)
    if isinstance(key, tuple):
        return ", ".join(map(_key, key))
    if hasattr(type(key), "item"):  # a number of an array
        return _key(key.item())
    if _has_no_text(key) or isinstance(key, bytes):
        raise Unreadable(f"the flow returned a mapping with a {type(key).__name__} as a key; use text")
    return str(key)
