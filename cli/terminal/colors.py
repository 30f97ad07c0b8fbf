"""Colours by meaning, and whether there are any (B77)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

Choice = Literal["auto", "always", "never"]
Meaning = Literal["error", "note", "question", "next"]

_CODES: dict[Meaning, str] = {"error": "31", "note": "2", "question": "36", "next": "32"}


def has_colors(choice: str, environment: Mapping[str, str], *, is_terminal: bool) -> bool:
    """What was chosen; otherwise `NO_COLOR`, then `FORCE_COLOR`, then whether a terminal that can is there."""
    if choice != "auto":
        return choice == "always"
    if environment.get("NO_COLOR"):
        return False
    if environment.get("FORCE_COLOR", "0") != "0":
        return True
    return is_terminal and environment.get("TERM", "dumb") != "dumb"


def painted(text: str, meaning: Meaning) -> str:
    """The text in its meaning's colour, which ends with it."""
    return f"\x1b[{_CODES[meaning]}m{text}\x1b[0m"


class Color:
    """What this run of the command line has chosen."""

    choice: Choice = "auto"


COLOR = Color()
