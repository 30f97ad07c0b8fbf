"""What everything that runs inside one step of a turn shares."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from agentflow.agents.data_source import DataSource
from agentflow.agents.loaded_agent import LoadedAgent
from agentflow.clock import NewId
from agentflow.config.agent_config import Settings
from agentflow.live.interrupt import Interrupt
from agentflow.store.outcomes import Claimed
from agentflow.store.protocol import Store
from agentflow.tools.flows.memory import Note
from agentflow.turn.rules.snapshots import SnapshotDecision


class Versions:
    """The number of the newest version that is written or staged."""

    def __init__(self) -> None:
        self.last = 0

    def seen(self, number: int) -> None:
        self.last = max(self.last, number)

    def next(self) -> int:
        self.last += 1
        return self.last


class StepSnapshots:
    """What this step knows of snapshots: the decision, how much it has kept, and what it loaded last (R8)."""

    def __init__(self) -> None:
        self.decision: SnapshotDecision | None = None
        self.deciding = asyncio.Lock()
        self.chars = 0
        self._number = 0
        self._last: dict[tuple[str, str], str | None] = {}

    def next(self) -> int:
        """The number of the next snapshot, counted in the step."""
        self._number += 1
        return self._number

    def is_known(self, entity: str, key: str, data: str | None) -> bool:
        """Whether that was what the step had last of this entity; from now on it is."""
        known = (entity, key) in self._last and self._last[entity, key] == data
        self._last[entity, key] = data
        return known


@dataclass(frozen=True, slots=True)
class Step:
    """The store, the request that opened the step, the one switch that ends it, how sub-agents are loaded, and where
    flows have their data from.

    `settled` is set when a call that was left open may have its result. `versions` numbers the versions of state and
    configuration, which are the session's, whichever run writes them.
    """

    store: Store
    claimed: Claimed
    interrupt: Interrupt
    new_id: NewId
    load_agent: Callable[[str], LoadedAgent]
    source: DataSource
    settled: asyncio.Event = field(default_factory=asyncio.Event)
    versions: Versions = field(default_factory=Versions)
    snapshots: StepSnapshots = field(default_factory=StepSnapshots)
    notes: list[Note] = field(default_factory=list)

    def reads_lean(self, settings: Settings) -> bool:
        """Whether earlier turns are read without their tools; never where the path ended in an open call (X1, X2)."""
        delivered = self.claimed.messages
        goes_on = self.claimed.resumed or bool(delivered and delivered[0].role == "tool")
        return settings.lean_history and not goes_on
