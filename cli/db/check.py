"""`agentflow db check`."""

from __future__ import annotations

import json
from pathlib import Path

import click

from ..engine import engine_options, reading
from ..exits import Exit
from ..terminal.output import Output, note


@click.command("check", short_help="Look for damaged rows.")
@click.argument("session", required=False)
@engine_options
@click.pass_obj
def command(output: Output, session: str | None, project: Path, db: str | None) -> int:
    """Look at every row of SESSION, or of all sessions, and print what is damaged, a line each; nothing is changed."""
    found = reading(project, db, lambda runtime: runtime.records.check(session))
    for damage in found:
        row = json.dumps(damage["row"], ensure_ascii=False)
        output.line(f"{damage['table']}.{damage['column']} {row}: must {damage['problem']}")
    if not found:
        note("every row is as it must be")
    return Exit.FAILED if found else Exit.DONE
