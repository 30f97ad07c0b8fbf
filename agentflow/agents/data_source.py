"""Where flows of this process have an entity's data from (R8, R9)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentflow.tools.flows.library import Flow

Captured = Mapping[tuple[str, str], Any]
"""Data by entity and key."""

FindFlow = Callable[[str, Path], Flow]
"""`(name, folder) -> flow`. Raises `InvalidConfig`."""

EVALUATION = "evaluation"


@dataclass(frozen=True, slots=True)
class DataSource:
    """`find_flow(name, folder)` gives a loader by its name. In the environment `evaluation` nothing is loaded:
    `captured` has the data.
    """

    environment: str
    find_flow: FindFlow
    captured: Captured

    @classmethod
    def of(cls, environment: str, find_flow: FindFlow, captured: Captured | None) -> DataSource:
        """That of a process: given captured data, whatever it has, makes the environment `evaluation`."""
        return cls(environment if captured is None else EVALUATION, find_flow, captured or {})
