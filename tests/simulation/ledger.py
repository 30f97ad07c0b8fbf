"""What the world was told and saw: what was acknowledged, what tools did, what was used, what was heard live."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from agentflow import Event, Receipt
from agentflow.message import Usage


class Violation(Exception):
    """Something that must always be true is not. `name` is the rule, the same for the same kind of fault."""

    def __init__(self, name: str, detail: str) -> None:
        super().__init__(f"{name}: {detail}")
        self.name = name
        self.detail = detail


@dataclass(frozen=True, slots=True)
class Sent:
    """An input that somebody has a receipt for; `texts` are what it said, each unlike any other."""

    operation: int
    session: str
    given: dict[str, Any]
    texts: tuple[str, ...]
    receipt: Receipt


@dataclass(slots=True)
class Heard:
    """The logged events that one live reader got, from `after` on; `turn_id` when it read one turn to its end."""

    session: str
    after: int
    turn_id: str | None
    events: list[Event] = field(default_factory=list)
    deltas: dict[tuple[str, str], str] = field(default_factory=dict)
    ended: bool = False
    told_dead: bool = False

    def hear(self, event: Event) -> None:
        if event.seq is not None:
            self.events.append(event)
        elif event.type == "llm.delta":
            self._put(event.data)
        self.told_dead = event.type == "done" and event.seq is None

    def _put(self, data: dict[str, Any]) -> None:
        kind = "text" if "text" in data else "reasoning"
        key, offset = (data["call_id"], kind), data["offset"]
        so_far = self.deltas.get(key, "")
        if offset > len(so_far):
            raise Violation("a delta is missing", f"{key} jumps from {len(so_far)} to {offset}")
        self.deltas[key] = so_far[:offset] + data[kind]


class Ledger:
    def __init__(self) -> None:
        self.given: list[tuple[str, dict[str, Any]]] = []  # everything that was handed in, acknowledged or not
        self.sent: list[Sent] = []
        self.settled: dict[tuple[str, str], str] = {}
        self.runs: Counter[str] = Counter()
        self.used: dict[str, list[Usage]] = {}
        self.heard: list[Heard] = []
        self.emptied: set[str] = set()  # sessions whose queue somebody wanted emptied
        self.counts: Counter[str] = Counter()

    def ran(self, key: str) -> None:
        self.runs[key] += 1
        if self.runs[key] > 1:
            raise Violation("a tool ran twice", key)
