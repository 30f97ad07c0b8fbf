"""How much a value from outside holds, known before it is read; each look is bounded too (Z3)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

MAX_BYTES = 32_000_000
MAX_VALUES = 200_000
MAX_LEVELS = 64

_LIGHT_VALUES, _LIGHT_BYTES = 2_000, 250_000
_NOTHING: tuple[Any, ...] = (None, False, (), "")


class TooMuch(ValueError):
    """A value that holds more than is taken; the sentence goes on after the name of the value."""


def weigh(value: Any, *, most_values: int = MAX_VALUES, most_bytes: int = MAX_BYTES) -> None:
    """Raises `TooMuch` for more values, or more bytes of text in UTF-8, than allowed.

    A field of a dataclass counts when it says something. What is deeper than `MAX_LEVELS` is not looked at, nor what a
    circle leads back into: whoever reads the value refuses both.
    """
    values, size = 0, 0
    open_: list[Iterator[Any]] = [iter((value,))]
    while open_:
        for each in open_[-1]:
            values += 1
            coming = len(each) if isinstance(each, Mapping | list | tuple) else 0
            if values + coming > most_values:
                raise TooMuch(f"has more than {most_values:,} values")
            size += sum(_bytes(text, most_bytes) for text in _texts(each))
            if size > most_bytes:
                raise TooMuch(f"has more than {most_bytes:,} bytes of text")
            if len(open_) <= MAX_LEVELS and (inner := _parts(each)) is not None:
                open_.append(iter(inner))
                break
        else:
            open_.pop()


def _texts(value: Any) -> Iterable[str]:
    """The texts that are the value's own: itself, or the keys of an object."""
    if isinstance(value, str):
        return (value,)
    return [key for key in value if isinstance(key, str)] if isinstance(value, Mapping) else ()


def is_deep(value: Any) -> bool:
    """Whether JSON is nested more than `MAX_LEVELS` levels deep; found level by level, whatever its depth."""
    levels, level = 0, [value] if isinstance(value, list | dict) else []
    while level and levels <= MAX_LEVELS:
        levels += 1
        inner = (held for each in level for held in (each.values() if isinstance(each, dict) else each))
        level = [each for each in inner if isinstance(each, list | dict)]
    return levels > MAX_LEVELS


def is_light(value: Any) -> bool:
    """Whether a value is so small that reading it holds nobody; a heavier one is read on a thread."""
    try:
        weigh(value, most_values=_LIGHT_VALUES, most_bytes=_LIGHT_BYTES)
    except TooMuch:
        return False
    return True


def _bytes(text: str, most: int) -> int:
    return len(text) if text.isascii() or len(text) > most else len(text.encode("utf-8", "surrogatepass"))


def _parts(value: Any) -> Iterable[Any] | None:
    """The values that a value holds."""
    if isinstance(value, Mapping):
        return value.values()
    if isinstance(value, list | tuple):
        return value
    if is_dataclass(value) and not isinstance(value, type):
        return [held for each in fields(value) if (held := getattr(value, each.name)) not in _NOTHING]
    return None
