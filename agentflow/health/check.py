"""One thing that was looked at, and what to do when it is not as it should be."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal

State = Literal["ok", "warning", "failed", "skipped"]


@dataclass(frozen=True, slots=True)
class Check:
    """`name` is stable; `said` is one sentence. What is a warning or failed has a `fix`: what mends it."""

    name: str
    state: State
    said: str
    fix: str | None = None

    def as_dict(self) -> dict[str, str | None]:
        """As JSON."""
        return asdict(self)
