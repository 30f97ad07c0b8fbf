"""`agentflow sessions name`."""

from __future__ import annotations

from pathlib import Path

import click

from ..engine import engine_options, with_runtime
from ..terminal.output import Output
from ..terminal.plain import one_line


@click.command("name", short_help="Give a session a name, or take it away.")
@click.argument("session")
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@engine_options
@click.pass_obj
def command(output: Output, session: str, name: str | None, as_json: bool, project: Path, db: str | None) -> None:
    """Give SESSION the name NAME, which nothing overwrites; without NAME take its name away."""
    given = with_runtime(project, db, lambda runtime: runtime.records.name(session, name))
    if as_json:
        output.json(given, indent=2)
    else:
        output.line("no name" if given["name"] is None else one_line(given["name"]))
