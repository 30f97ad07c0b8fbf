"""`agentflow sessions tree`."""

from __future__ import annotations

from pathlib import Path

import click

from ..engine import engine_options, reading
from ..terminal.output import Output
from ..terminal.plain import one_line


@click.command("tree", short_help="Print every message of a session as a tree.")
@click.argument("session")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@engine_options
@click.pass_obj
def command(output: Output, session: str, as_json: bool, project: Path, db: str | None) -> None:
    """Print the whole tree of SESSION: branches are indented, the path is marked with |, its head with *."""
    from agentflow import drawn_tree

    found = reading(project, db, lambda runtime: runtime.tree(session))
    if as_json:
        output.json(found, indent=2)
    else:
        output.write("".join(f"{one_line(line)}\n" for line in drawn_tree(found)))
