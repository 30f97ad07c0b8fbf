"""A model call in flight: what it has shown so far, and for how long it runs."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agentflow.models.assembly import Assembler


@dataclass(slots=True)
class OpenStream:
    """A model call in flight. What it has shown so far is `assembler.text`; its deltas say `told` too."""

    call_id: str
    purpose: str
    request_chars: int
    started: float
    with_tools: bool
    told: Mapping[str, Any] = field(default_factory=dict)
    attempts: int = 0
    first_token_ms: int | None = None
    assembler: Assembler = field(default_factory=Assembler)

    def milliseconds(self) -> int:
        return milliseconds_since(self.started)


def milliseconds_since(started: float) -> int:
    """Whole milliseconds of the loop's clock, never negative (T38)."""
    return max(int((asyncio.get_running_loop().time() - started) * 1000), 0)
