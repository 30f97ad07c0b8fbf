"""`agentflow sessions ls`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click

from ..engine import engine_options, place, reading
from ..terminal.output import Output, note
from ..terminal.plain import one_line

COLUMNS = ("SESSION", "AGENT", "STATE", "TURNS", "UPDATED", "TITLE")


@click.command("ls", short_help="List sessions, the most recently used first.")
@click.option("--agent", metavar="NAME", help="Only this agent's.")
@click.option("--search", metavar="TEXT", help="Only those with this text in their name.")
@click.option("--limit", metavar="N", type=click.IntRange(min=1), default=50, help="At most so many.  [default: 50]")
@click.option("--cursor", metavar="CURSOR", help="Go on where another list ended.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object: sessions, how many more, the cursor.")
@engine_options
@click.pass_obj
def command(
    output: Output,
    agent: str | None,
    search: str | None,
    limit: int,
    cursor: str | None,
    as_json: bool,
    project: Path,
    db: str | None,
) -> None:
    """List sessions with state and title, the most recently used first."""
    found = reading(
        project, db, lambda runtime: runtime.sessions(agent=agent, search=search, limit=limit, cursor=cursor)
    )
    if as_json:
        output.json(found.as_dict(), indent=2)
    else:
        output.write(_table([COLUMNS, *(tuple(map(one_line, _row(each))) for each in found)]))
    if found.cursor is not None:
        asked = {"--agent": agent, "--search": search}
        same = [word for option, value in asked.items() if value is not None for word in (option, value)]
        again = shlex.join(["agentflow", "sessions", "ls", *same, *place(project, db), "--cursor", found.cursor])
        note(f"{found.more} more: {again}")
    elif not len(found) and not as_json:
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
