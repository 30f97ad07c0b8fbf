"""Ratings as people give them (R11)."""

from __future__ import annotations

from typing import Any

from agentflow.errors import InvalidInput

RATINGS = ("up", "down", "1", "2", "3", "4", "5")


def parse_rating(value: Any) -> str:
    """`up`, `down` or 1 to 5, the number as a number or as text. Raises `InvalidInput`."""
    rating = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if rating not in RATINGS:
        raise InvalidInput(f"A rating is up, down or 1 to 5, not {value!r}.", detail={"field": "rating"})
    return str(rating)
