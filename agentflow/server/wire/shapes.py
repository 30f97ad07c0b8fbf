"""Bodies of requests: typed, every field known, nothing converted."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Shape(BaseModel):
    """What a body of JSON has: other fields are refused, and so are values of other types."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)
