"""What flows return and raise, as a model reads it (T14, T43)."""

import datetime
import decimal
import enum
import functools
import itertools
import json
import math
import sqlite3
import uuid
from array import array
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from dataclasses import dataclass
from io import StringIO
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from agentflow.errors import InvalidInput
from agentflow.text import LONG_TEXT, sanitise, size_in_bytes
from agentflow.tools.plain_values import MAX_ITEMS, Unreadable
from agentflow.tools.results import MAX_STORED_BYTES, ToolResult, failure, refused, settled, success


class Colour(enum.StrEnum):
    RED = "red"


class Level(enum.Enum):
    HIGH = 3


class Model(BaseModel):
    day: datetime.date
    name: str = "é"


@dataclass
class Point:
    y: int
    x: Any = None


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("as it is", "as it is"),
        (Colour.RED, "red"),
        (None, ""),
        (True, "true"),
        (3, "3"),
        (0.5, "0.5"),
        ({"b": 1, "a": [None, "é"]}, '{"b":1,"a":[null,"é"]}'),
        ((1, 2), "[1,2]"),
        ({3, 1, 2}, "[1,2,3]"),
        (Level.HIGH, "3"),
        (Model(day=datetime.date(2026, 1, 2)), '{"day":"2026-01-02","name":"é"}'),
        ([Point(1, Point(2))], '[{"y":1,"x":{"y":2,"x":null}}]'),
        (MappingProxyType({"k": 1}), '{"k":1}'),
        (OrderedDict(k=1), '{"k":1}'),
        (datetime.datetime(2026, 1, 2, 3, tzinfo=datetime.UTC), '"2026-01-02T03:00:00+00:00"'),
        ([datetime.time(1, 2), decimal.Decimal("1.50")], '["01:02:00","1.50"]'),
        (uuid.UUID(int=1), '"00000000-0000-0000-0000-000000000001"'),
        ({"path": PurePosixPath("a/b")}, '{"path":"a/b"}'),
        ({(1, 2): 3, datetime.date(2026, 1, 2): 4, Level.HIGH: 5, None: 6}, '{"1, 2":3,"2026-01-02":4,"3":5,"null":6}'),
        ((each * 2 for each in (1, 2)), "[2,4]"),
        (map(str, (1, 2)), '["1","2"]'),
        ({"k": {"a": 1}.keys(), "v": {"a": 1}.values()}, '{"k":["a"],"v":[1]}'),
        (range(3), "[0,1,2]"),
        (deque([1]), "[1]"),
        (array("i", [1, 2]), "[1,2]"),
    ],
)
def test_a_returned_value_has_one_text(value: object, text: str) -> None:
    assert success(value).text == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (float("nan"), "null\n[1 value is no number (NaN, infinite, missing) and is given as null]"),
        ({"a": 1.5, "b": [math.inf, -math.inf]},
         '{"a":1.5,"b":[null,null]}\n[2 values are no numbers (NaN, infinite, missing) and are given as null]'),
    ],
)  # fmt: skip
def test_what_is_no_number_is_null_and_that_is_said(value: object, text: str) -> None:
    """D63"""
    assert success(value).text == text


def nested(levels: int) -> object:
    value: object = 1
    for _ in range(levels):
        value = [value]
    return value


def cycle() -> object:
    value: list[object] = []
    value.append(value)
    return value


class Thing:
    pass


async def numbers() -> AsyncIterator[int]:
    yield 1


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (cycle, "nested more than 64 levels"),
        (lambda: nested(65), "nested more than 64 levels"),
        (lambda: nested(3000), "nested more than 64 levels"),
        (object, "returned a object, which has no JSON"),
        (lambda: {"a": [Thing()]}, "returned a Thing, which has no JSON"),
        (lambda: Thing, "returned a type, which has no JSON"),
        (lambda: print, "builtin_function_or_method"),
        (lambda: {"blob": b"123"}, "returned 3 bytes"),
        (lambda: StringIO("a"), "an open file"),
        (numbers, "an async iterator"),
        (lambda: {Thing(): 1}, "a Thing as a key"),
        (lambda: {1: "a", Level.HIGH: "b", "1": "c"}, "two keys that are both written '1'"),
    ],
)
def test_what_has_no_json_is_a_clear_complaint(make: Callable[[], object], complaint: str) -> None:
    """D63, Z3: never a repr, never a silent '...', never a RecursionError."""
    with pytest.raises(Unreadable, match=complaint):
        success(make())


def test_the_deepest_that_is_stored() -> None:
    assert success(nested(64)).text == "[" * 64 + "1" + "]" * 64


def test_an_endless_iterator_is_read_up_to_a_limit_and_that_is_said() -> None:
    """D63"""
    text = success(itertools.count()).text
    assert text.endswith(f",{MAX_ITEMS - 1}]\n[only the first {MAX_ITEMS} items were read, there are more]")


def test_a_result_is_stored_up_to_a_limit_and_the_cut_is_said() -> None:
    """Z3"""
    text = success("ü" * MAX_STORED_BYTES).text
    assert len(text.encode()) <= MAX_STORED_BYTES
    assert f"the full text has {MAX_STORED_BYTES} characters" in text


def test_a_row_of_a_database_keeps_its_names() -> None:
    """D63"""
    with closing(sqlite3.connect(":memory:")) as database:
        database.row_factory = sqlite3.Row
        assert success(database.execute("SELECT 1 AS a, 'x' AS b")).text == '[{"a":1,"b":"x"}]'


ALPHABET = st.characters(exclude_characters="\0", exclude_categories=["Cs"])
LEAVES = st.none() | st.booleans() | st.integers() | st.text(ALPHABET, max_size=5)
NESTED = st.recursive(LEAVES, lambda x: st.lists(x) | st.dictionaries(st.text(ALPHABET, max_size=3), x), max_leaves=8)


@given(st.lists(NESTED))
@settings(max_examples=60, deadline=None)
def test_json_values_come_back_as_they_were(value: object) -> None:
    assert json.loads(success(value).text) == value


def test_bytes_are_refused_with_their_size() -> None:
    with pytest.raises(Unreadable, match="returned 3 bytes"):
        success(b"abc")


def test_an_awaitable_is_refused_and_closed() -> None:
    async def forgotten() -> None: ...

    with pytest.raises(Unreadable, match="async def"):
        success(forgotten())  # not closed, it would warn, and a warning fails the test


@pytest.mark.parametrize(
    ("value", "text"),
    [("a\x00b", "ab"), ({"k": "a\x00b\ud800"}, '{"k":"ab\ufffd"}'), ("\ud83d\ude00", "\U0001f600")],
)
def test_what_cannot_be_stored_is_changed_and_the_change_is_told(value: object, text: str) -> None:
    """B38."""
    result = success(value)
    assert (result.ok, result.altered) == (True, True)
    assert result.text == text


@pytest.mark.parametrize("value", ["fine", "the escape \\u0000", {"k": "\\u0000"}, {"a": {"b": "\\u0000"}}])
def test_what_only_looks_like_nul_is_left_alone(value: object) -> None:
    result = success(value)
    assert result.altered is False
    assert result.text == value if isinstance(value, str) else json.loads(result.text) == value


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("no such city"), "Error: ValueError: no such city"),
        (KeyError("k"), "Error: KeyError: 'k'"),
        (SystemExit(1), "Error: SystemExit: 1"),
        (ZeroDivisionError(), "Error: ZeroDivisionError"),
        (Unreadable("the flow returned 3 bytes"), "Error: the flow returned 3 bytes"),
    ],
)
def test_an_exception_is_named_with_its_message(error: BaseException, text: str) -> None:
    result = failure(error)
    assert (result.ok, result.text) == (False, text)
    assert result.error_code == ("unreadable_result" if isinstance(error, Unreadable) else "tool_failed")


def test_an_error_message_is_bounded_and_storable() -> None:
    result = failure(ValueError("\x00" + "x" * 1_000_000))
    assert len(result.text) < 2_100
    assert "\x00" not in result.text
    assert result.altered


def test_an_exception_that_cannot_say_what_it_is_still_has_a_name() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    assert failure(Mute()).text == "Error: Mute"


def test_a_refusal_carries_its_code() -> None:
    assert refused("No.", "unknown_tool") == ToolResult(False, "Error: No.", error_code="unknown_tool")


@pytest.mark.parametrize("at", range(-2, 2))
def test_a_pair_of_surrogates_across_two_pieces_of_a_long_text_is_joined(at: int) -> None:
    """Z3, T43: a long text is made storable piece by piece, and comes out as in one."""
    before = "é" * (LONG_TEXT + at)
    assert sanitise(before + "\ud83d\ude00\x00" + "\udc00") == before + "\U0001f600\ufffd"
    assert sanitise(before + "\ud83d" * 3) == before + "\ufffd" * 3
    assert size_in_bytes(before + "😀") == len((before + "😀").encode())


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([0] * 200_001, "result: has more than 200,000 values."),
        ("é" * 16_000_001, "result: has more than 32,000,000 bytes of text."),
        (functools.reduce(lambda held, _: [held], range(65), 1), "result: must be text or JSON, not a value nested"),
        (b"x", "result: must be text or JSON, not 1 bytes"),
        (object(), "result: must be text or JSON, not a object, which has no JSON"),
    ],
    ids=["values", "bytes", "depth", "kind", "object"],
)
def test_a_result_from_outside_that_is_too_much_or_no_json_is_refused(given: object, said: str) -> None:
    """Z3: what settles a call is an input."""
    with pytest.raises(InvalidInput, match=said):
        settled(given)
