"""What a sweep asks of the store and is told: sessions that nobody used for long, and their deletion (R12)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from agentflow.clock import Instant
from agentflow.store.requests import Alive

Busy = Literal["running", "queued"]
"""Why a session stays though nobody used it for long: a turn of it runs, or waits."""


class Unused(NamedTuple):
    """A session that was last used before the moment asked for. `config` is that of its last turn, as JSON."""

    key: int
    id: str
    used_at: Instant
    busy: Busy | None
    config: str | None


@dataclass(frozen=True, slots=True)
class ListUnused:
    """The sessions of an agent, in the order of their keys, that were last used before a moment.

    A time that is not known is never before it. Those of evaluations are left out (R9).
    """

    agent: str
    before: Instant
    alive: Alive
    after_key: int = 0
    limit: int = 200


@dataclass(frozen=True, slots=True)
class DeleteUnused:
    """Delete sessions by key, each if it was last used before its moment and nothing runs or waits in it.

    Whoever sweeps holds the lease `owner` until `lease_until`, which is taken again with this.
    """

    owner: str
    at: Instant
    lease_until: Instant
    sessions: Mapping[int, Instant]
    alive: Alive
