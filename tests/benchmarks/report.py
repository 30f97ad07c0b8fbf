"""Figures and their table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

_HEADER = ("", "ours", "floor", "ratio", "target")


@dataclass(frozen=True, slots=True)
class Figure:
    """One row: what was measured, in `unit`, beside the same work done by plain Python and sqlite3.

    `target` is the number to reach, null where there is none.
    """

    name: str
    unit: str
    ours: float
    floor: float | None = None
    target: float | None = None
    more_is_better: bool = False

    @property
    def misses(self) -> bool:
        if self.target is None:
            return False
        return self.ours < self.target if self.more_is_better else self.ours > self.target

    def cells(self) -> tuple[str, ...]:
        sign = "≥" if self.more_is_better else "≤"
        return (
            f"{self.name} ({self.unit})",
            _short(self.ours),
            "" if self.floor is None else _short(self.floor),
            "" if not self.floor else f"{self.ours / self.floor:.1f} x",
            "" if self.target is None else f"{sign} {_short(self.target)}" + (" missed" if self.misses else ""),
        )


def table(figures: Iterable[Figure]) -> str:
    """The figures as aligned text, one a line."""
    lines = [_HEADER, *(figure.cells() for figure in figures)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join([line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])]).rstrip() for line in lines
    )


def _short(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"
