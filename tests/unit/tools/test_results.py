"""What flows return and raise, as a model reads it (T14, T43)."""

import datetime
import decimal
import enum
import json
import uuid
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from agentflow.tools.results import ToolResult, Unreadable, as_text, failure, refused, success


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
        ({"path": PurePosixPath("a/b"), "blob": b"123"}, '{"path":"a/b","blob":"<3 bytes>"}'),
        ({(1, 2): 3}, "{(1, 2): 3}"),
        (float("nan"), "nan"),
    ],
)
def test_a_returned_value_has_one_text(value: object, text: str) -> None:
    assert as_text(value) == text


def test_a_cycle_is_still_a_text() -> None:
    cycle: list[object] = []
    cycle.append(cycle)
    assert as_text(cycle) == "[[...]]"


LEAVES = st.none() | st.booleans() | st.integers() | st.text(max_size=5)
NESTED = st.recursive(LEAVES, lambda x: st.lists(x) | st.dictionaries(st.text(max_size=3), x), max_leaves=8)


@given(st.lists(NESTED))
@settings(max_examples=60, deadline=None)
def test_json_values_come_back_as_they_were(value: object) -> None:
    assert json.loads(as_text(value)) == value


def test_bytes_are_refused_with_their_size() -> None:
    with pytest.raises(Unreadable, match="returned 3 bytes"):
        as_text(b"abc")


def test_an_awaitable_is_refused_and_closed() -> None:
    async def forgotten() -> None: ...

    with pytest.raises(Unreadable, match="async def"):
        as_text(forgotten())  # not closed, it would warn, and a warning fails the test


@pytest.mark.parametrize(
    ("value", "text"),
    [("a\x00b", "ab"), ({"k": "a\x00b\ud800"}, '{"k":"ab\ufffd"}'), ("\ud83d\ude00", "\U0001f600")],
)
def test_what_cannot_be_stored_is_changed_and_the_change_is_told(value: object, text: str) -> None:
    """B38."""
    result = success(value)
    assert (result.ok, result.altered) == (True, True)
    assert result.text == text


@pytest.mark.parametrize("value", ["fine", "the escape \\u0000", {"k": "\\u0000"}, {(1, 2): "\\u0000"}])
def test_what_only_looks_like_nul_is_left_alone(value: object) -> None:
    result = success(value)
    assert result.altered is False
    assert result.text == as_text(value)


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
