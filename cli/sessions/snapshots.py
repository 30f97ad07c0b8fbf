"""`agentflow sessions snapshots`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..engine import engine_options, reading
from ..terminal.output import Output

_DECIDED = {True: "snapshotted", False: "not snapshotted", None: "not decided yet"}


@click.command("snapshots", short_help="List the data that a session's flows loaded.")
@click.argument("session")
@click.option("--show", type=click.IntRange(min=1), metavar="N", help="Print the data of snapshot N as JSON.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@engine_options
@click.pass_obj
def command(output: Output, session: str, show: int | None, as_json: bool, project: Path, db: str | None) -> None:
    """List the snapshots of SESSION: what was loaded in which step, and whether the session is snapshotted at all."""
    if show is not None:
        found = reading(project, db, lambda runtime: runtime.records.snapshot(session, show))
        output.json(found if as_json else found["data"], indent=2)
        return
    found = reading(project, db, lambda runtime: runtime.records.snapshots(session))
    if as_json:
        output.json(found, indent=2)
        return
    reason = f" ({found['reason']})" if found["reason"] else ""
    output.line(f"{session}: {_DECIDED[found['snapshotted']]}{reason}, {len(found['snapshots'])} snapshots")
    for each in found["snapshots"]:
        output.line(_line(each))


def _line(snapshot: dict[str, Any]) -> str:
    what = " ".join(f"{snapshot['entity']} {snapshot['key']}".split())
    kept = f"{snapshot['hash'][:12]}  {snapshot['chars']} characters" if snapshot["hash"] else snapshot["problem"]
    return f"{snapshot['number']:>4}  step {snapshot['step_order']}  {what}  {kept}"
