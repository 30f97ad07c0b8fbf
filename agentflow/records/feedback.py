"""Ratings as people give them (R11)."""

from __future__ import annotations

from typing import Any

from agentflow.conversation import arguments
from agentflow.errors import InvalidInput

MAX_COMMENT = 10_000  # characters
RATINGS = ("up", "down", "1", "2", "3", "4", "5")


def parse_rating(value: Any) -> str:
    """`up`, `down` or 1 to 5, the number as a number or as text. Raises `InvalidInput`."""
    rating = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if rating not in RATINGS:
        raise InvalidInput(f"A rating is up, down or 1 to 5, not {value!r}.", detail={"field": "rating"})
    return str(rating)


def parse_comment(value: Any) -> str | None:
    """What the person says to it, at most 10,000 characters, or null. Raises `InvalidInput`."""
    comment = arguments.optional_text(value, "comment")
    if comment is not None and len(comment) > MAX_COMMENT:
        raise InvalidInput(f"A comment has at most {MAX_COMMENT:,} characters.", detail={"field": "comment"})
    return comment
