"""Every key of agentflow.yaml, the optional file of a project."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Literal

from pydantic import Field, field_validator

from agentflow.config.keys.agent import Interface
from agentflow.config.keys.base import Complaint, Keys, Named, as_written
from agentflow.config.keys.checks.cross_checks import interface_complaints
from agentflow.config.keys.spellings import PROJECT, Spelling


class ProjectKeys(Keys):
    """What the agents of a project share."""

    spellings: ClassVar[Sequence[Spelling]] = PROJECT

    interfaces: Named[Interface] = Field(default={}, description="Interfaces that every agent has; its own win.")
    db: str | None = Field(
        default=None, min_length=1, description="Database URL; a relative SQLite file starts at the project's folder."
    )
    environment: Literal["production", "studio", "evaluation"] = Field(
        default="production", description="What the sessions are for; it decides about snapshots."
    )
    retention_days: int = Field(
        default=0, ge=0, description="Days after which cleanup removes an unused session; 0: never."
    )

    _written = field_validator("db", mode="wrap")(as_written)

    @classmethod
    def cross_check(cls, data: Mapping[str, Any], shared: Mapping[str, str]) -> Iterable[Complaint]:
        return interface_complaints(data, shared)
