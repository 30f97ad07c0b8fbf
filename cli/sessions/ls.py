"""`agentflow sessions ls`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..engine import engine_options, reading
from ..terminal.output import Output, note

COLUMNS = ("SESSION", "AGENT", "STATE", "TURNS", "UPDATED", "TITLE")


@click.command("ls", short_help="List sessions, the most recently used first.")
@click.option("--agent", metavar="NAME", help="Only this agent's.")
@click.option("--limit", metavar="N", type=click.IntRange(min=1), default=50, help="At most so many.  [default: 50]")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
@engine_options
@click.pass_obj
def command(output: Output, agent: str | None, limit: int, as_json: bool, project: Path, db: str | None) -> None:
    """List sessions with state and title, the most recently used first."""
    found = reading(project, db, lambda runtime: runtime.sessions(agent=agent, limit=limit))
    if as_json:
        output.json(found, indent=2)
        return
    output.write(_table([COLUMNS, *map(_row, found)]))
    if not found:
        note("there are no sessions here yet; --project and --db name other places")


def _row(session: dict[str, Any]) -> tuple[str, ...]:
    return (
        session["session_id"],
        session["agent_id"],
        session["outcome"] if session["status"] == "idle" and session["outcome"] else session["status"],
        str(session["turns"]),
        session["updated_at"][:19],
        session["name"] or "",
    )


def _table(rows: list[tuple[str, ...]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return "".join(line.rstrip() + "\n" for line in lines)
