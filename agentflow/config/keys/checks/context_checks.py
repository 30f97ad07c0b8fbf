"""What `context:`, the `compaction_*` settings and the interfaces that settings name must be (A4, B25)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentflow.config.document.codes import Code
from agentflow.config.keys.base import Complaint, without_free_keys
from agentflow.config.keys.references import REFERENCE, broken_reference

_RESERVE_TOKENS = 16_000  # X11; the checks pass over values that have another type


def context_complaints(data: Mapping[str, Any], known: Mapping[str, str]) -> Iterator[Complaint]:
    """Strategies that cannot work and interfaces that are not there; `known` are model strings by interface name."""
    yield from _settings(data, known)
    context = _mapping(data.get("context"))
    window = max(_number(context.get("window")) or 0, 0) or None
    yield from _window(context, window)
    entries = [_mapping(each) for each in _list(context.get("strategy"))]
    for index, entry in enumerate(entries):
        at = ("context", "strategy", index)
        yield from _interface(entry, known, at)
        yield from _reach(entries[:index], entry, window, at)


def _settings(data: Mapping[str, Any], known: Mapping[str, str]) -> Iterator[Complaint]:
    settings = _mapping(data.get("settings"))
    for key in ("compaction_interface", "naming_interface"):
        yield from _known(settings.get(key), known, ("settings", key))


def _window(context: Mapping[str, Any], window: float | None) -> Iterator[Complaint]:
    by_window = [entry for entry in map(_mapping, _list(context.get("strategy"))) if _uses_window(entry)]
    if window and window <= _RESERVE_TOKENS and by_window:
        message = f"leaves no room: {_RESERVE_TOKENS:,} tokens of it are kept free for the reply; give over_tokens"
        yield Complaint(Code.WINDOW, message, ("context", "window"))


def _interface(entry: Mapping[str, Any], known: Mapping[str, str], at: tuple[str | int, ...]) -> Iterator[Complaint]:
    if "llm" in entry and "interface" in entry:
        yield Complaint(Code.GIVEN_TWICE, "is given twice, here and as llm", (*at, "interface"))
    yield from _known(entry.get("llm"), known, (*at, "llm"))
    yield from _known(entry.get("interface"), known, (*at, "interface"))
    model = entry.get("model")
    if isinstance(model, str) and model.startswith(REFERENCE):
        yield Complaint(Code.INTERFACE, "must be a model string; an interface is named by llm", (*at, "model"))


def _known(name: Any, known: Mapping[str, str], at: tuple[str | int, ...]) -> Iterator[Complaint]:
    if isinstance(name, str) and name:
        reference = REFERENCE + name.removeprefix(REFERENCE)
        if reason := broken_reference(known, reference, ""):
            yield Complaint(Code.INTERFACE, reason, at)


@dataclass(frozen=True, slots=True)
class _When:
    """When a strategy applies: idle for `idle` seconds, more than `limit` tokens; null for a condition it has not."""

    idle: float | None
    limit: float | None

    @property
    def never(self) -> bool:
        return self.idle is None and self.limit is None

    def covers(self, other: _When) -> bool:
        """Whether this one applies whenever the other does."""
        long_enough = self.idle is None or (other.idle is not None and other.idle >= self.idle)
        big_enough = self.limit is None or (other.limit is not None and other.limit >= self.limit)
        return not self.never and long_enough and big_enough


def _reach(
    earlier: Sequence[Mapping[str, Any]], entry: Mapping[str, Any], window: float | None, at: tuple[str | int, ...]
) -> Iterator[Complaint]:
    own = _when(entry, window)
    if own.never and entry.get("use") == "reset":  # a summary is also made when the provider refuses (X16)
        yield Complaint(
            Code.NEVER_APPLIES, "never applies: give it idle_secs or over_tokens, or set context.window", at
        )
    for index, other in enumerate(earlier):
        if not own.never and _when(other, window).covers(own):
            yield Complaint(Code.NEVER_APPLIES, f"never applies: strategy[{index}] applies whenever this one would", at)
            return


def _when(entry: Mapping[str, Any], window: float | None) -> _When:
    idle, over = _number(entry.get("idle_secs")), _number(entry.get("over_tokens"))
    if idle is not None:
        return _When(idle, over)
    limits = [limit for limit in (window - _RESERVE_TOKENS if window else None, over) if limit is not None]
    return _When(None, min(limits, default=None))


def _uses_window(entry: Mapping[str, Any]) -> bool:
    return "idle_secs" not in entry and "over_tokens" not in entry


def _number(value: Any) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _mapping(value: Any) -> Mapping[str, Any]:
    return without_free_keys(value) if isinstance(value, dict) else {}


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else ()
