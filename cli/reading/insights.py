"""`agentflow insights`: what sessions have done and cost, as a table with bars."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from ..engine import engine_options, reading
from ..terminal.output import Output, note
from ..terminal.plain import one_line

_BAR = 20  # characters of the longest bar
_EIGHTHS = " ▏▎▍▌▋▊▉"

_Group = dict[str, Any]
_Cell = Callable[[_Group], str]

_TURNS: dict[str, _Cell] = {
    "TURNS": lambda group: str(group["turns"]),
    "SESSIONS": lambda group: str(group["sessions"]),
}
_OUTCOMES: dict[str, _Cell] = {
    "DONE": lambda group: str(group["outcomes"]["done"]),
    "FAILED": lambda group: _failed(group),
    "ABORTED": lambda group: str(group["outcomes"]["aborted"]),
    "PAUSED": lambda group: str(group["outcomes"]["paused"]),
}
_SPENT: dict[str, _Cell] = {
    "TOKENS": lambda group: f"{group['tokens']['total']:,}",
    "COST": lambda group: _or_dash(group["cost"]),
}
_CALLS: dict[str, _Cell] = {
    "CALLS": lambda group: str(group["calls"]),
    "FAILED": lambda group: str(group["failed"]),
}
_OF_TURNS: dict[str, _Cell] = {
    **_TURNS, **_OUTCOMES, **_SPENT,
    "FIRST TOKEN": lambda group: _milliseconds(group["first_token_ms"], "p50"),
    "MEDIAN": lambda group: _milliseconds(group["duration_ms"], "p50"),
    "95%": lambda group: _milliseconds(group["duration_ms"], "p95"),
    "TOOLS": lambda group: _tools(group["tools"]),
    "FEEDBACK": lambda group: _feedback(group["feedback"]),
}  # fmt: skip
_COLUMNS: dict[str, dict[str, _Cell]] = {
    "agent": _OF_TURNS,
    "day": _OF_TURNS,
    "model": {**_CALLS, **_SPENT, **_TURNS},
    "tool": {**_CALLS, "MEAN": lambda group: _milliseconds(group["duration_ms"], "mean"), **_TURNS},
}


@click.command("insights", short_help="Sum what sessions have done and cost.")
@click.option(
    "--by", type=click.Choice(list(_COLUMNS)), default="agent", help="What to sum by.  [default: agent]"
)  # fmt: skip
@click.option("--since", metavar="TIME", help="Turns that ended since then: 7d, 12h, a day such as 2030-01-31.")
@click.option("--tz", metavar="NAME", default="UTC", help="Time zone of the days.  [default: UTC]")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@engine_options
@click.pass_obj
def command(output: Output, by: str, since: str | None, tz: str, as_json: bool, project: Path, db: str | None) -> None:
    """Sum turns, outcomes, tokens, cost and times of all sessions; those of evaluations do not count.

    Times are of turns that are done. A bar is as long as the turns of its line, or as the calls.
    """
    found = reading(project, db, lambda runtime: runtime.records.insights(by=by, since=since, tz=tz))
    if as_json:
        output.json(found, indent=2)
        return
    output.write(table(found, bars=output.is_terminal))
    if not found["groups"]:
        note("no turns have ended here; --since, --project and --db name other times and places")


def table(found: dict[str, Any], *, bars: bool) -> str:
    """The groups as lines under their columns, each with a bar if `bars`."""
    columns = _COLUMNS[found["by"]]
    counting = "turns" if columns is _OF_TURNS else "calls"
    most = max((group[counting] for group in found["groups"]), default=0)
    lines = [(found["by"].upper(), *columns, "")]
    for group in found["groups"]:
        bar = _bar(group[counting] / most) if bars and most else ""
        lines.append((one_line(group["key"]), *(cell(group) for cell in columns.values()), bar))
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "".join(_line(line, widths) for line in lines)


def _line(cells: tuple[str, ...], widths: list[int]) -> str:
    key, *numbers, bar = cells
    aligned = (cell.rjust(width) for cell, width in zip(numbers, widths[1:-1], strict=True))
    return "  ".join([key.ljust(widths[0]), *aligned, bar]).rstrip() + "\n"


def _bar(share: float) -> str:
    eighths = round(share * _BAR * 8)
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def _failed(group: _Group) -> str:
    codes = ", ".join(f"{code} {count}" for code, count in group["errors"].items() if group["outcomes"]["failed"])
    return f"{group['outcomes']['failed']} ({codes})" if codes else str(group["outcomes"]["failed"])


def _milliseconds(spread: dict[str, int | None], kind: str) -> str:
    taken = spread[kind]
    return "-" if taken is None else f"{taken / 1000:.1f}s" if taken >= 1000 else f"{taken}ms"


def _tools(tools: dict[str, int]) -> str:
    return f"{tools['calls']} ({tools['failed']} failed)" if tools["failed"] else str(tools["calls"])


def _feedback(sums: dict[str, Any]) -> str:
    thumbs = f"+{sums['up']} -{sums['down']}" if sums["up"] or sums["down"] else ""
    marks = f"{sums['mean']} of {sums['marks']}" if sums["marks"] else ""
    return " ".join(part for part in (thumbs, marks) if part) or "-"


def _or_dash(value: str | None) -> str:
    return "-" if value is None else value
