"""Who asks, once that is known, and what that one may."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from agentflow.server.problems import Refusal


@dataclass(frozen=True, slots=True)
class Subject:
    """`open`: anybody who reaches a server without a key; `key`: a backend; `token`: a browser, for one `user`.

    `name` tells subjects apart where something is counted or kept for one. A token is for these `agents` alone, null
    for all, until `ends`, a second since 1970.
    """

    kind: Literal["open", "key", "token"]
    name: str
    user: str | None = None
    agents: tuple[str, ...] | None = None
    ends: int | None = None

    def acting_for(self, owner: str | None) -> str | None:
        """The user a request is for: a token's own; a backend may say one. Raises `Refusal`."""
        if self.kind != "token":
            return owner
        if owner not in (None, self.user):
            raise Refusal("not_allowed", "A token is for its own user: leave out owner.")
        return self.user

    def refuse_user(self, what: str) -> None:
        """Refuse what only a backend may."""
        if self.kind == "token":
            raise Refusal("not_allowed", f"A token does not allow {what}; a key does.")

    def refuse_agent(self, agent: Any) -> None:
        """Refuse an agent that is not one of the token's."""
        if self.agents is not None and agent is not None and agent not in self.agents:
            raise Refusal("not_allowed", f"This token is not for agent {agent!r}.", detail={"agent_id": agent})

    def refuse_input(self, given: Mapping[str, Any]) -> None:
        """Refuse what a user may not ask for: another agent, or recording what nobody said here (S10)."""
        if self.kind == "token":
            self.refuse_agent(given.get("agent_id"))
            if given.get("record_only"):
                raise Refusal("not_allowed", "A token does not allow record_only; a key does.")

    @property
    def roles(self) -> Collection[str] | None:
        """The roles of messages it may bring in, null for all: a user says a user's words, and what its client's
        tools came to (Z6).
        """
        return ("user", "tool") if self.kind == "token" else None


ANYBODY = Subject("open", "open")
