"""Arguments of the public methods, refused by name where they are of another type, never by a bare TypeError."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from agentflow.conversation.wire import kind_of, refuse

MAX_SESSION_ID = 200  # characters
_MOST = 2**63 - 1  # what every database counts to


def session_id(value: Any) -> str:
    """An id of a session: 1 to 200 printable characters."""
    if not isinstance(value, str):
        refuse("session_id", f"must be a string, not {kind_of(value)}.")
    if not 0 < len(value) <= MAX_SESSION_ID or not value.isprintable():
        refuse("session_id", f"a session id has 1 to {MAX_SESSION_ID} printable characters, not {value[:40]!r}.")
    return value


def text(value: Any, name: str) -> str:
    """A text; an empty one is none."""
    if not isinstance(value, str):
        refuse(name, f"must be a string, not {kind_of(value)}.")
    return value or refuse(name, "must not be empty.")


def optional_text(value: Any, name: str) -> str | None:
    return None if value is None else text(value, name)


def one_of(value: Any, name: str, words: Sequence[str]) -> str:
    """One of these words."""
    if not isinstance(value, str) or value not in words:
        refuse(name, f"must be one of {', '.join(words)}, not {value!r}.")
    return value


def mapping(value: Any, name: str) -> dict[str, Any]:
    """A mapping by name, empty for null."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        refuse(name, f"must be an object, not {kind_of(value)}.")
    for key in value:
        if not isinstance(key, str):
            refuse(name, f"has {kind_of(key)} as a key; keys must be strings.")
    return dict(value)


def flag(value: Any, name: str) -> bool:
    if not isinstance(value, bool):
        refuse(name, f"must be true or false, not {kind_of(value)}.")
    return value


def whole_number(value: Any, name: str, *, least: int = 0) -> int:
    """A whole number from `least` on."""
    if isinstance(value, bool) or not isinstance(value, int):
        refuse(name, f"must be a whole number, not {kind_of(value)}.")
    if not least <= value <= _MOST:
        _outside(name, f"must be {least} or more" if value < least else "is too large a number")
    return value


def seconds(value: Any, name: str) -> float | None:
    """A time to wait, null for no end."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        refuse(name, f"must be a number of seconds, not {kind_of(value)}.")
    return float(value) if value >= 0 else _outside(name, "must be 0 or more")


def _outside(name: str, what: str) -> NoReturn:
    refuse(name, f"{what}.")


def expected(owner: Any, if_head: Any) -> tuple[str | None, str | None]:
    """The user a request is for, and the message the path has to end in, empty for none; null where it is not said."""
    if if_head is not None and not isinstance(if_head, str):
        refuse("if_head", f"must be a string, not {kind_of(if_head)}.")
    return optional_text(owner, "owner"), if_head
