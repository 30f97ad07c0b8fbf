"""What sessions have cost and done, summed by agent, day, model or tool (R6). Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from agentflow.clock import SECOND, Instant
from agentflow.errors import InvalidInput
from agentflow.message import TurnState
from agentflow.store.counted import Counts, NamingCount, TurnCount
from agentflow.text import stored_json

BY = ("agent", "day", "model", "tool")
_TOKENS = ("input", "output", "cache_read", "cache_write")
_OUTCOMES = {
    TurnState.DONE: "done", TurnState.FAILED: "failed", TurnState.ABORTED: "aborted",
    TurnState.PAUSED_ASK_USER: "paused",
}  # fmt: skip
_AGO = re.compile(r"([1-9][0-9]{0,5})([mhdw])")
_UNITS = {"m": 60 * SECOND, "h": 3600 * SECOND, "d": 86_400 * SECOND, "w": 604_800 * SECOND}


def parse_zone(name: Any) -> tzinfo:
    """The time zone of a name such as `Europe/Berlin`. Raises `InvalidInput`."""
    if name == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, TypeError, LookupError):  # unknown names are a LookupError
        raise InvalidInput(
            f"tz: {name!r} is no time zone known here; give a name such as UTC or Europe/Berlin.",
            detail={"field": "tz"},
        ) from None


def parse_since(since: Any, at: Instant, zone: tzinfo) -> Instant | None:
    """A moment: so long before `at` (`30m`, `12h`, `7d`, `4w`), the start of a day (`2030-01-31`), or an RFC 3339
    time; null for null. A time without an offset is one of `zone`. Raises `InvalidInput`.
    """
    if since is None:
        return None
    try:
        if ago := _AGO.fullmatch(since):
            return max(at - int(ago[1]) * _UNITS[ago[2]], 0)
        given = datetime.fromisoformat(since)
        given = given if given.tzinfo is not None else given.replace(tzinfo=zone)
        return max(int(given.timestamp()) * SECOND, 0)
    except (ValueError, TypeError, OverflowError):
        raise InvalidInput(
            f"since: {since!r} is no time; give how long ago (7d, 12h), a day (2030-01-31) or a time with its offset.",
            detail={"field": "since"},
        ) from None


@dataclass(slots=True)
class _Group:
    """The sums of one key. A turn counts once in each group it has calls in."""

    turns: int = 0
    sessions: set[int] = field(default_factory=set)
    outcomes: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    tokens: Counter[str] = field(default_factory=Counter)
    cost: Decimal | None = None
    first_token_ms: list[int] = field(default_factory=list)
    duration_ms: list[int] = field(default_factory=list)
    calls: Counter[str] = field(default_factory=Counter)
    ratings: Counter[str] = field(default_factory=Counter)

    def took_part(self, turn: TurnCount) -> None:
        self.turns += 1
        self.sessions.add(turn.session)
        self.outcomes[_OUTCOMES[TurnState(turn.state)]] += 1
        if turn.error is not None:
            self.errors[turn.error] += 1

    def spend(self, used: dict[str, Any]) -> None:
        """Tokens and cost of a turn, a model or a title call."""
        self.tokens.update({name: used[name] or 0 for name in _TOKENS})
        if used["cost"] is not None:
            self.cost = (self.cost or Decimal(0)) + Decimal(used["cost"])

    def timed(self, turn: TurnCount) -> None:
        """How long it took; only of turns that came to their end by themselves."""
        if turn.state == TurnState.DONE:
            self.duration_ms.append(turn.duration_ms)
        if turn.first_token_ms is not None:
            self.first_token_ms.append(turn.first_token_ms)

    def called(self, sums: dict[str, Any]) -> None:
        self.calls.update({name: sums[name] for name in ("calls", "failed", "duration_ms") if name in sums})

    def common(self) -> dict[str, Any]:
        return {
            "turns": self.turns,
            "sessions": len(self.sessions),
            "outcomes": {name: self.outcomes[name] for name in _OUTCOMES.values()},
            "errors": dict(sorted(self.errors.items())),
        }

    def spent(self) -> dict[str, Any]:
        tokens = {name: self.tokens[name] for name in _TOKENS}
        total = self.tokens["input"] + self.tokens["output"]
        return {"tokens": {**tokens, "total": total}, "cost": None if self.cost is None else str(self.cost)}

    def of_turns(self) -> dict[str, Any]:
        return {
            **self.common(),
            **self.spent(),
            "first_token_ms": spread(self.first_token_ms),
            "duration_ms": spread(self.duration_ms),
            "tools": {"calls": self.calls["calls"], "failed": self.calls["failed"]},
            "feedback": feedback_sums(self.ratings),
        }

    def of_model(self) -> dict[str, Any]:
        called = {"calls": self.calls["calls"], "failed": self.calls["failed"]}
        return {**self.common(), **called, **self.spent()}

    def of_tool(self) -> dict[str, Any]:
        calls = self.calls["calls"]
        mean = round(self.calls["duration_ms"] / calls) if calls else None
        return {**self.common(), "calls": calls, "failed": self.calls["failed"], "duration_ms": {"mean": mean}}


def spread(values: Sequence[int]) -> dict[str, int | None]:
    """Mean, median and 95th percentile, the smallest value that so many are not above; null of nothing."""
    if not values:
        return {"mean": None, "p50": None, "p95": None}
    ranked = sorted(values)
    return {
        "mean": round(sum(ranked) / len(ranked)),
        "p50": ranked[-(-len(ranked) * 50 // 100) - 1],
        "p95": ranked[-(-len(ranked) * 95 // 100) - 1],
    }


def feedback_sums(ratings: Counter[str]) -> dict[str, Any]:
    """How many thumbs each way, and how many marks from 1 to 5 with their mean (R11)."""
    marks = {int(rating): count for rating, count in ratings.items() if rating.isdigit()}
    given = sum(marks.values())
    mean = round(sum(mark * count for mark, count in marks.items()) / given, 2) if given else None
    return {"up": ratings["up"], "down": ratings["down"], "marks": given, "mean": mean}


def insights(counted: Counts, by: str, zone: tzinfo) -> dict[str, Any]:
    """`{groups, total}`: a group for each key, in the order of the keys, and the sums of all turns."""
    groups: dict[str, _Group] = {}
    total = _Group()
    if by in ("agent", "day"):
        name = _NAMES[by]
        _add_turns(counted, lambda agent, at: groups.setdefault(name(agent, at, zone), _Group()))
    else:
        _add_parts(counted, by, groups)
    _add_turns(counted, lambda agent, at: total)
    shown: Callable[[_Group], dict[str, Any]] = {"model": _Group.of_model, "tool": _Group.of_tool}.get(
        by, _Group.of_turns
    )
    return {"groups": [{"key": key, **shown(groups[key])} for key in sorted(groups)], "total": total.of_turns()}


_NAMES: dict[str, Callable[[str, Instant, tzinfo], str]] = {
    "agent": lambda agent, at, zone: agent,
    "day": lambda agent, at, zone: datetime.fromtimestamp(at / SECOND, zone).date().isoformat(),
}


def _add_turns(counted: Counts, group_of: Callable[[str, Instant], _Group]) -> None:
    for turn in counted.turns:
        group = group_of(turn.agent, turn.at)
        group.took_part(turn)
        group.spend(turn._asdict())
        group.timed(turn)
        for sums in stored_json(turn.tools).values():
            group.called(sums)
    for call in counted.naming:
        group_of(call.agent, call.at).spend(call._asdict())
    for rating in counted.ratings:
        group_of(rating.agent, rating.at).ratings[rating.rating] += 1


def _add_parts(counted: Counts, by: str, groups: dict[str, _Group]) -> None:
    """Group by what turns called: models, title calls included, or tools."""
    for turn in counted.turns:
        for name, sums in stored_json(turn.models if by == "model" else turn.tools).items():
            group = groups.setdefault(name, _Group())
            group.took_part(turn)
            group.called(sums)
            if by == "model":
                group.spend(sums)
    for call in _naming(counted.naming, by):
        group = groups.setdefault(call.model, _Group())
        group.sessions.add(call.session)
        group.called({"calls": 1, "failed": int(call.status != "completed")})
        group.spend(call._asdict())


def _naming(calls: Iterable[NamingCount], by: str) -> Iterable[NamingCount]:
    return calls if by == "model" else ()
