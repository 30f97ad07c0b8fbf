"""What making room would look like if a turn began now, for whoever wants to know beforehand (`explain`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from agentflow.context.compaction import Cut, Reading, keep_recent, make_room
from agentflow.context.strategies import Context, Plan, Reason, Strategy, Use, settings_plan
from agentflow.context.tokens import Report, reported, tokens_to_read
from agentflow.message import Message


@dataclass(frozen=True, slots=True)
class Compaction:
    """The `compaction_*` settings as far as they decide (X7, X8)."""

    fraction: float
    window: int
    keep: int


@dataclass(frozen=True, slots=True)
class Forecast:
    """One way room could be made, `settings` or `strategy[n]`.

    `tokens` would be compared with `threshold`, the most that may be read; `due` says that more would be. An
    `idle_secs` must be over besides. Then `summarized` messages would go, `kept` would stay, and `tokens_after` be
    read without the summary; all three are 0 when there is nothing to make room with.
    """

    by: str
    use: Use
    tokens: int
    threshold: int | None
    idle_secs: float | None
    due: bool
    summarized: int
    kept: int
    tokens_after: int

    def as_dict(self) -> dict[str, Any]:
        """Its fields as JSON."""
        return asdict(self)


def forecast(
    context: Context, settings: Compaction, report: Report | None, path: Sequence[Message], request_chars: int,
    history_chars: int, *, lean: bool, model: str | None = None,
) -> list[Forecast]:  # fmt: skip
    """Everything that may make room at the next turn, in the order it is tried.

    `request_chars` are the characters of the next request without its new message, `history_chars` those of the path
    in it; both as the request builder counts them for `model`.
    """
    new = Message("", "user", None)
    reading = Reading([*path, new], len(path), lean, request_chars - history_chars, model)
    tokens = tokens_to_read(report, request_chars)
    return [*_by_settings(settings, report, reading), *_by_strategies(context, tokens, reading)]


def _by_settings(settings: Compaction, report: Report | None, reading: Reading) -> Iterator[Forecast]:
    if settings.fraction <= 0 or settings.window <= 0:
        return
    said = report or Report(None, 0)
    plan = settings_plan(said, settings.fraction, settings.window)
    yield _forecast("settings", plan, reported(said), None, keep_recent(reading, settings.keep))


def _by_strategies(context: Context, tokens: int, reading: Reading) -> Iterator[Forecast]:
    for index, strategy in enumerate(context.strategies):
        plan = _plan(strategy, tokens, context.window or None)
        yield _forecast(f"strategy[{index}]", plan, tokens, strategy.idle_secs, make_room(plan, reading))


def _plan(strategy: Strategy, tokens: int, window: int | None) -> Plan:
    reason: Reason = "full" if strategy.idle_secs is None else "idle"
    return Plan(reason, strategy, tokens, window, strategy.limit(window))


def _forecast(by: str, plan: Plan, tokens: int, idle_secs: float | None, cut: Cut | None) -> Forecast:
    gone = 0 if cut is None else len(cut.older) + len(cut.older_of_turn)
    kept = 0 if cut is None else len(cut.kept) - 1  # the new message is not written yet
    after = 0 if cut is None else cut.tokens_after(None)
    due = plan.limit is not None and tokens > plan.limit
    return Forecast(by, plan.use, tokens, plan.limit, idle_secs, due, gone, kept, after)
