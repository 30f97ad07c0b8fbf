"""Z3: what a value holds is counted before it is read, and counting has an end itself."""

from __future__ import annotations

from typing import Any

import pytest

from agentflow.bounds.weight import TooMuch, is_light, weigh
from agentflow.message import Message, ToolCall


def _shared(levels: int) -> list[Any]:
    """A few lists that stand for 2 ** levels values."""
    held: list[Any] = [1]
    for _ in range(levels):
        held = [held, held]
    return held


def _deep(levels: int) -> list[Any]:
    held: list[Any] = []
    for _ in range(levels):
        held = [held]
    return held


def _circle() -> list[Any]:
    held: list[Any] = [1]
    held.append({"a": held})
    return held


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ([1] * 11, "more than 10 values"),
        ({str(number): number for number in range(11)}, "more than 10 values"),
        ([[1] * 6, [1] * 6], "more than 10 values"),
        (_shared(60), "more than 10 values"),
        (["a" * 60, "b" * 60], "more than 100 bytes"),
        ("é" * 51, "more than 100 bytes"),
        ("\ud800" * 40, "more than 100 bytes"),
        ({"k" * 101: 1}, "more than 100 bytes"),
        (Message("m", "assistant", "x" * 50, (ToolCall("c", "t", "y" * 60),)), "more than 100 bytes"),
        (range(3), None),
        ([1] * 9, None),
        (["é" * 50], None),
        (Message("m", "user", "hi"), None),
        (_deep(100_000), None),
        (_circle(), None),
        (float("nan"), None),
    ],
    ids=range(16),
)
def test_more_values_or_bytes_than_allowed_are_refused(value: Any, said: str | None) -> None:
    """What is deep or goes round in circles is left to whoever reads it, who refuses it by its depth."""
    most = 10 if said else 200
    if said is None:
        weigh(value, most_values=most, most_bytes=100)
        return
    with pytest.raises(TooMuch, match=said):
        weigh(value, most_values=most, most_bytes=100)


def test_only_what_is_small_is_light() -> None:
    assert is_light({"messages": [{"role": "user", "content": "hi"}] * 100})
    assert not is_light({"messages": [{"role": "user", "content": "hi"}] * 20_000})
    assert not is_light("x" * 1_000_000)
