"""When room is made: the strategies of `context:` in their order, the `settings` trigger, the provider's refusal.

Nothing here looks at the clock or at a message; the numbers come in, a plan or nothing comes out. What the plan
keeps and drops is `compaction`'s business.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from math import ceil
from typing import Literal

from agentflow.clock import SECOND, Instant
from agentflow.context.tokens import Report, reported

RESERVE_TOKENS = 16_000
"""What is left of the window for the reply when a strategy names no size of its own (X11)."""

Use = Literal["reset", "summarize"]
Reason = Literal["idle", "full", "overflow"]


@dataclass(frozen=True, slots=True)
class Strategy:
    """One entry of `context.strategy` (X11).

    `idle_secs` and `over_tokens` say when it applies, both must hold when both are given. `prompt`, `llm` (an
    interface's name) and `model` belong to the summary call.
    """

    use: Use
    idle_secs: float | None = None
    over_tokens: int | None = None
    prompt: str | None = None
    llm: str | None = None
    model: str | None = None

    def limit(self, window: int | None) -> int | None:
        """The most tokens this strategy lets the model read; null when it never looks at the size."""
        if self.idle_secs is not None:
            return self.over_tokens
        limits = (window - RESERVE_TOKENS if window else None, self.over_tokens)
        return min((limit for limit in limits if limit is not None), default=None)


@dataclass(frozen=True, slots=True)
class Context:
    """An agent's `context:`; a `window` of null or 0 tokens is unknown."""

    window: int | None = None
    strategies: tuple[Strategy, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """Room has to be made before the call goes out (X12).

    `strategy` is null when no listed one asked for it: summarize then, with the default prompt. `limit` is the most
    tokens that may be read afterwards, where a size is known.
    """

    reason: Reason
    strategy: Strategy | None
    tokens: int
    window: int | None
    limit: int | None

    @property
    def use(self) -> Use:
        return self.strategy.use if self.strategy else "summarize"

    def helped(self, tokens: int) -> bool:
        """Whether `tokens`, counted after the replace, are within the limit; if not, this turn gives up (X17)."""
        return self.limit is None or tokens <= self.limit


def idle_seconds(ended_at: Instant | None, at: Instant) -> float | None:
    """Seconds between the end of the session's previous turn and `at`; null on a first turn (X11)."""
    return None if ended_at is None else (at - ended_at) / SECOND


def plan(
    context: Context,
    *,
    tokens: int,
    first_call_of_turn: bool,
    idle: float | None,
    resumed: bool,
    compacted_since_last_call: bool,
    gave_up: bool = False,
) -> Plan | None:
    """The first strategy that applies before a model call of the loop, or null: the call goes out (X11, X17).

    `idle` is `idle_seconds`. `compacted_since_last_call`: room was already made by size, or tried, since the last
    loop call; `gave_up`: an attempt of this turn was kept (`context.kept`) or did not help (`Plan.helped`). Either
    silences everything that looks at the size. A held call is not asked about again (X14).
    """
    window = context.window or None
    asleep = idle if first_call_of_turn and not resumed else None
    by_size = not compacted_since_last_call and not gave_up
    for strategy in context.strategies:
        limit = strategy.limit(window)
        if _applies(strategy, limit, tokens, asleep, by_size):
            reason: Reason = "full" if strategy.idle_secs is None else "idle"
            return Plan(reason, strategy, tokens, window, limit)
    return None


def _applies(strategy: Strategy, limit: int | None, tokens: int, asleep: float | None, by_size: bool) -> bool:
    too_big = limit is not None and by_size and tokens > limit
    if strategy.idle_secs is None:
        return too_big
    long_enough = asleep is not None and asleep >= strategy.idle_secs
    return long_enough and (limit is None or too_big)


def overflow_plan(context: Context | None, *, tokens: int) -> Plan:
    """The plan after a provider refused a loop call as too long: a summary, whatever is listed (X16).

    The first `summarize` strategy lends its prompt and model. The refusal proves the count or the window wrong, so
    at most half of what was refused may remain.
    """
    context = context or Context()
    window = context.window or None
    lender = next((strategy for strategy in context.strategies if strategy.use == "summarize"), None)
    limit = tokens // 2
    if window and window > RESERVE_TOKENS:
        limit = min(limit, window - RESERVE_TOKENS)
    return Plan("overflow", lender, tokens, window, limit)


def settings_due(report: Report | None, fraction: float, window: int, *, resumed: bool = False) -> bool:
    """Whether the `compaction_*` settings ask for room at the start of a turn (X7); 0 switches them off.

    `report` is the previous main call on this path, null when there was none.
    """
    if report is None or resumed or fraction <= 0 or window <= 0:
        return False
    return reported(report) >= _threshold(fraction, window)


def settings_plan(report: Report, fraction: float, window: int) -> Plan:
    """The plan of a `settings` compaction that is due: `full`, by no strategy (X20)."""
    limit = ceil(_threshold(fraction, window)) - 1
    return Plan("full", None, reported(report), window, limit)


def _threshold(fraction: float, window: int) -> Decimal:
    """`fraction` × `window` as people write it: 0.55 × 100 is 55, which binary fractions miss."""
    return Decimal(str(fraction)) * window
