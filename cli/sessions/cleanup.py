"""`agentflow cleanup`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..chat.history import forget, history_file
from ..engine import engine_options, reading, with_runtime
from ..terminal.output import Output, note
from ..terminal.plain import one_line


@click.command("cleanup", short_help="Delete sessions that nobody used for long.")
@click.option("--older-than", metavar="AGE", help="Last used so long ago: 12h, 30d, 8w.  [default: retention_days]")
@click.option("--dry-run", is_flag=True, help="Say which ones, and delete none.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@engine_options
@click.pass_obj
def command(
    output: Output, older_than: str | None, dry_run: bool, as_json: bool, project: Path, db: str | None
) -> None:
    """Delete the sessions that were not used for as long as retention_days says, and print their ids.

    A session in which a turn runs or waits stays. Of several processes that clean up at once one does it.
    """
    opened = reading if dry_run else with_runtime
    swept = opened(project, db, lambda runtime: runtime.records.sweep(older_than=older_than, dry_run=dry_run))
    if not dry_run:
        forget(history_file(), swept["deleted"])
    if as_json:
        output.json(swept, indent=2)
        return
    output.write("".join(f"{one_line(session)}\n" for session in swept["deleted"]))
    _tell(swept, given=older_than is not None)


def _tell(swept: dict[str, Any], *, given: bool) -> None:
    for each in swept["skipped"]:
        note(f"{each['session_id']} stays: a turn of it is {each['why']}")
    if not swept["swept"]:
        note("another process is cleaning up")
    elif swept["deleted"]:
        note(f"{len(swept['deleted'])} {'would be ' if swept['dry_run'] else ''}deleted")
    else:
        said = "" if given else "; retention_days says when a session is old, or --older-than 30d"
        note(f"nothing to delete{said}")
