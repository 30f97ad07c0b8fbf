"""What tools and loaders give in a case, in place of what they would do; and what was asked that it has not (R9)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from agentflow.config.keys.case import CaseTurn
from agentflow.evaluation.made_calls import MadeCall, same_arguments
from agentflow.text import compact_json, preview
from agentflow.tools.results import ToolResult, success

WORKER = "worker"
"""Stands for every worker among the names of live tools."""

_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Miss:
    """What a case was asked and has no answer to, as a sentence; `call` where it was a call of a tool."""

    said: str
    call: MadeCall | None = None


class CaseStandIn:
    """Answers for one attempt at a case, turn by turn. `misses` are what it was asked and has no answer to.

    Results of equal calls are given in their order, the last one again. Called on any thread that a flow runs on.
    """

    def __init__(self, live: Collection[str]) -> None:
        self.misses: list[Miss] = []
        self.data = _Data(self)
        self.step = 1
        self._live = frozenset(live)
        self._turn: CaseTurn | None = None
        self._given: dict[int, int] = {}

    def begin(self, turn: CaseTurn) -> None:
        self._turn, self.step = turn, 1
        self._given, self.misses = {}, []

    def result(self, tool: str, arguments: Mapping[str, Any]) -> ToolResult | None:
        """As `StandIn.result`: a call that the case does not know fails, and is a miss."""
        return None if tool in self._live else self.given(tool, arguments)

    def given(self, tool: str, arguments: Mapping[str, Any]) -> ToolResult:
        """What the case has for a call, whoever is to perform it."""
        known = [call for call in self.turn.tools if call.name == tool]
        matching = [call for call in known if call.arguments is None or same_arguments(call.arguments, arguments)]
        if not matching:
            said = f"the case has no result of {tool} {preview(compact_json(dict(arguments)), _SHOWN)}"
            there = [preview(compact_json(dict(call.arguments or {})), _SHOWN) for call in known[:5]]
            named = f"{said}; it has those for {' and '.join(there)}" if there else said
            self.misses.append(Miss(named, MadeCall(tool, dict(arguments))))
            return ToolResult(False, f"Error: {said}.", error_code="tool_failed")
        at = self._given.get(id(matching[0]), 0)
        self._given[id(matching[0])] = at + 1
        call = matching[min(at, len(matching) - 1)]
        return success(call.result) if call.error is None else ToolResult(False, call.error, error_code="tool_failed")

    def asks_worker(self, agent: str) -> bool:
        """As `StandIn.asks_worker`."""
        if WORKER not in self._live:
            self.misses.append(
                Miss(f"agent {agent} has a worker, for which no case answers: `{WORKER}` is no live tool")
            )
        return WORKER in self._live

    @property
    def turn(self) -> CaseTurn:
        assert self._turn is not None  # nothing runs before the first turn begins
        return self._turn


class _Data(Mapping[tuple[str, str], Any]):
    """The data of the turn that runs, by entity and key, as it was from the present step on."""

    def __init__(self, stand_in: CaseStandIn) -> None:
        self._stand_in = stand_in

    def __getitem__(self, of: tuple[str, str]) -> Any:
        return self._now()[of]

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(self._now())

    def __len__(self) -> int:
        return len(self._now())

    def __contains__(self, of: object) -> bool:
        held = of in self._now()
        if not held and isinstance(of, tuple):
            self._stand_in.misses.append(Miss(f"the case has no data of {of[0]} {of[1]!r}"))
        return held

    def _now(self) -> dict[tuple[str, str], Any]:
        """Of several steps the latest that has come; an entity that is only known later is taken from there."""
        entries = sorted(self._stand_in.turn.data, key=lambda each: each.step)
        later = {(each.entity, each.key): each.value for each in reversed(entries)}
        return later | {(each.entity, each.key): each.value for each in entries if each.step <= self._stand_in.step}
