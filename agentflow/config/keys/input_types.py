"""Which values an input of a declared type may have."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


_FITS: dict[str, Callable[[Any], bool]] = {
    "string": lambda value: isinstance(value, str),
    "number": _is_number,
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "boolean": lambda value: isinstance(value, bool),
    "array": lambda value: isinstance(value, list | tuple),
    "object": lambda value: isinstance(value, Mapping),
}
_ARTICLE = {"integer": "an integer", "array": "an array", "object": "an object"}


def misfit(type_: str, enum: Sequence[Any], value: Any) -> str | None:
    """Why a value is not of this type, or not one of `enum` where that lists any, as a clause; None when it is."""
    if not _FITS[type_](value):
        return f"must be {_ARTICLE.get(type_, f'a {type_}')}"
    if enum and not any(_same(value, allowed) for allowed in enum):
        return f"must be one of {', '.join(json.dumps(each, ensure_ascii=False) for each in enum)}"
    return None


def _same(value: Any, allowed: Any) -> bool:
    return bool(value == allowed) and isinstance(value, bool) == isinstance(allowed, bool)
