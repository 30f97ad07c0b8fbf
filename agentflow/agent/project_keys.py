"""Every key of agentflow.yaml, the optional file of a project."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import Field, field_validator

from agentflow.agent.agent_keys import Interface
from agentflow.agent.interfaces import broken_reference
from agentflow.agent.keys import Complaint, Keys, Named, complain


class ProjectKeys(Keys):
    """What the agents of a project share."""

    interfaces: Named[Interface] = Field(default={}, description="Interfaces that every agent has; its own win.")
    db: str | None = Field(
        default=None, min_length=1, description="Database URL; a relative SQLite file starts at the project's folder."
    )
    environment: Literal["production", "studio", "evaluation"] = Field(
        default="production", description="What the sessions are for; it decides about snapshots."
    )
    retention_days: int = Field(default=0, ge=0, description="Days after which cleanup removes a session; 0: never.")

    @field_validator("interfaces")
    @classmethod
    def _interfaces_resolve(cls, interfaces: Mapping[str, Interface]) -> Mapping[str, Interface]:
        reasons = {name: broken_reference(interfaces, each.model, name) for name, each in interfaces.items()}
        complain([Complaint(reason, (name, "model")) for name, reason in reasons.items() if reason])
        return interfaces
