"""`agentflow db upgrade`."""

from __future__ import annotations

from pathlib import Path

import click

from ..engine import engine_options
from ..terminal.output import note


@click.command("upgrade", short_help="Bring the database to this version's tables.")
@engine_options
def command(project: Path, db: str | None) -> None:
    """Bring the database to this version's tables. An older SQLite file is upgraded when it is opened, too."""
    from agentflow import Runtime

    before, after = Runtime.upgrade(project, db=db)
    note(f"the database is at version {after}" + ("" if before == after else f", it was {before or 'new'}"))
