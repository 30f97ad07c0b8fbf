"""The YAML 1.2 core schema: which plain scalars are not text (A2)."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

_BASES = {"0o": 8, "0x": 16}


def _integer(text: str) -> int:
    return int(text, _BASES.get(text[:2], 10))


def _real(text: str) -> float:
    return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))


@dataclass(frozen=True, slots=True)
class Scalar:
    """A kind of plain scalar: what it looks like, the characters it may start with, how it is read."""

    name: str
    shape: re.Pattern[str]
    first: tuple[str, ...]
    read: Callable[[str], Any]


_NUMBER = r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
_SPECIAL = r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"

CORE = (
    Scalar("null", re.compile(r"^(?:~|null|Null|NULL|)$"), ("~", "n", "N", ""), lambda text: None),
    Scalar(
        "bool",
        re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$"),
        tuple("tTfF"),
        lambda text: text.lower() == "true",
    ),
    Scalar("int", re.compile(r"^(?:[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)$"), tuple("-+0123456789"), _integer),
    Scalar("float", re.compile(rf"^(?:{_NUMBER}|{_SPECIAL})$"), tuple("-+.0123456789"), _real),
)


def read_scalar(text: str) -> Any:
    """A text as YAML would read it unquoted: null, boolean, integer, float or the text itself.

    Raises `ValueError` for an integer of more digits than Python converts.
    """
    for kind in CORE:
        if kind.shape.match(text):
            return kind.read(text)
    return text
