"""What everything that runs inside one step of a turn shares."""

from __future__ import annotations

from dataclasses import dataclass

from agentflow.clock import NewId
from agentflow.store.protocol import Claimed, Store
from agentflow.turn.stop import Interrupt


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The store, the request that opened the step, and the one switch that ends it."""

    store: Store
    claimed: Claimed
    interrupt: Interrupt
    new_id: NewId
