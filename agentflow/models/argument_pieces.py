"""The arguments of one call from the pieces they came in, also where a server tells them more than once (T14). Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from agentflow.text import holds_object, read_json

_SIGNS = re.compile(r"""\\.|["{}\[\]]""", re.DOTALL)
_DECODER = json.JSONDecoder()
_NONE_YET: tuple[Any, ...] = ({}, None)  # what some servers send before the arguments


def joined(pieces: Sequence[str]) -> str:
    """The text of the arguments.

    Pieces that grow, a repetition of the whole, `{}` or `null` before and junk behind are understood when exactly one
    JSON object results; anything else stays as it came, for the call's own check to complain of.
    """
    text = "".join(pieces)
    if not text or holds_object(text):
        return text
    grown = [piece for piece in pieces if piece]
    if len(grown) > 1 and all(later.startswith(earlier) for earlier, later in pairwise(grown)):
        text = grown[-1]
    return _only_object(text) or text


def value_of(text: str) -> Any:
    """The JSON value; the text itself where it is none."""
    try:
        return read_json(text)
    except ValueError:
        return text


class Ending:
    """Whether an object that comes in pieces is whole, known without reading it again with every piece (Z3)."""

    __slots__ = ("_depth", "_in_text", "_is_behind", "_read", "_rest")

    def __init__(self) -> None:
        self._read = 0  # pieces
        self._depth = 0
        self._in_text = self._is_behind = False
        self._rest = ""

    def is_there(self, pieces: Sequence[str]) -> bool:
        """Whether every bracket of these pieces is closed; they begin with those that were told before."""
        for piece in pieces[self._read :]:
            self._look(self._rest + piece)
        self._read = len(pieces)
        return self._is_behind and not self._depth

    def _look(self, text: str) -> None:
        odd = (len(text) - len(text.rstrip("\\"))) % 2
        self._rest = text[len(text) - odd :]
        for found in _SIGNS.finditer(text, 0, len(text) - odd):
            sign = found[0]
            if sign == '"':
                self._in_text = not self._in_text
            elif not self._in_text and sign in "{[":
                self._depth += 1
            elif not self._in_text and sign in "}]":
                self._depth -= 1
                self._is_behind = True


def _only_object(text: str) -> str | None:
    """The text of the one object that stands in a row of JSON values; null when there is none or more than one."""
    found: list[tuple[Any, str]] = []
    at = _next(text, 0)
    while at < len(text):
        try:
            value, end = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            if text[at] in "{[":  # the beginning of another value is no junk
                return None
            break
        if isinstance(value, dict) or value is None:
            found.append((value, text[at:end]))
        elif not found:
            return None
        at = _next(text, end)
    said = [each for each in found if each[0] not in _NONE_YET] or [each for each in found if each[0] == {}]
    return said[0][1] if said and all(value == said[0][0] for value, _ in said) else None


def _next(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at
