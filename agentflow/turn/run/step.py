"""What everything that runs inside one step of a turn shares."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from agentflow.agents.loaded_agent import LoadedAgent
from agentflow.clock import NewId
from agentflow.config.agent_config import Settings
from agentflow.live.interrupt import Interrupt
from agentflow.store.protocol import Store
from agentflow.store.records import Claimed


@dataclass(frozen=True, slots=True)
class Step:
    """The store, the request that opened the step, the one switch that ends it, and how sub-agents are loaded.

    `settled` is set when a call that was left open may have its result.
    """

    store: Store
    claimed: Claimed
    interrupt: Interrupt
    new_id: NewId
    load_agent: Callable[[str], LoadedAgent]
    settled: asyncio.Event = field(default_factory=asyncio.Event)

    def reads_lean(self, settings: Settings) -> bool:
        """Whether earlier turns are read without their tools; never where the path ended in an open call (X1, X2)."""
        delivered = self.claimed.messages
        goes_on = self.claimed.resumed or bool(delivered and delivered[0].role == "tool")
        return settings.lean_history and not goes_on
