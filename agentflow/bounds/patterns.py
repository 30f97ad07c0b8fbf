"""Regular expressions that others wrote, on texts that others wrote: both bounded, and the search has an end (Z3).

Some patterns take longer than the universe lasts on a text of a few characters. The engine of the standard library
cannot be interrupted in one; the one used here looks at its clock while it searches. It expands counted repeats when it
compiles, so these are counted first.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

MAX_PATTERN = 1_000  # characters
MAX_SIZE = 10_000  # of a pattern with its counted repeats written out
SEARCH_SECS = 0.02  # the engine looks at its clock now and then: up to twice of it
_MAX_DEPTH = 30


class TookTooLong(ValueError):
    """A search that was given up."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern ready to search with; `groups` are the names of its groups."""

    text: str
    groups: tuple[str, ...]
    _engine: Any

    def find(self, text: str) -> dict[str, str] | None:
        """What the named groups hold where the pattern is found first, null where it is nowhere.

        Raises `TookTooLong`.
        """
        try:
            found = self._engine.search(text, timeout=SEARCH_SECS)
        except TimeoutError:
            raise TookTooLong(f"the pattern {self.text!r} takes too long on this text") from None
        return None if found is None else found.groupdict("")


@lru_cache(maxsize=512)
def compiled(pattern: str) -> Pattern:
    """Raises `ValueError` with what is wrong with the pattern."""
    if len(pattern) > MAX_PATTERN:
        raise ValueError(f"it has more than {MAX_PATTERN} characters")
    try:
        parsed = re._parser.parse(pattern)  # type: ignore[attr-defined]  # typeshed leaves it out
    except (re.error, OverflowError) as error:
        raise ValueError(str(error)) from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if _size(parsed, 0) > MAX_SIZE:
        raise ValueError(f"with its repeats written out it has more than {MAX_SIZE} parts")
    import regex

    try:
        engine = regex.compile(pattern)
    except regex.error as error:
        raise ValueError(str(error)) from None
    return Pattern(pattern, tuple(engine.groupindex), engine)


def _size(parsed: Any, depth: int) -> int:
    """How many parts a parsed pattern has when each counted repeat is written out."""
    if depth > _MAX_DEPTH:
        raise ValueError("it is nested too deeply")
    size = 0
    for kind, value in parsed:
        inner = sum(_size(each, depth + 1) for each in _inside(value)) + 1
        if str(kind) in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            least, most = int(value[0]), int(value[1])
            inner *= max(1, least if most == int(re._constants.MAXREPEAT) else most)  # type: ignore[attr-defined]
        size += inner
    return size


def _inside(value: Any) -> list[Any]:
    """The parsed patterns that one part holds, however they lie in it."""
    if isinstance(value, re._parser.SubPattern):  # type: ignore[attr-defined]
        return [value]
    if isinstance(value, list | tuple):
        return [found for each in value for found in _inside(each)]
    return []
