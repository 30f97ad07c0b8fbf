"""`agentflow events`: a session's event log as JSON lines."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..engine import engine_options, reading
from ..terminal.output import Output

if TYPE_CHECKING:
    from agentflow import Runtime


@click.command("events", short_help="Print a session's event log as JSON lines.")
@click.argument("session")
@click.option("--after", metavar="N", type=click.IntRange(min=0), default=0, help="Only events after number N.")
@click.option("--follow", is_flag=True, help="Wait for further events.")
@engine_options
@click.pass_obj
def command(output: Output, session: str, after: int, follow: bool, project: Path, db: str | None) -> None:
    """Print the events of SESSION, one JSON object a line, in order."""

    async def show(runtime: Runtime) -> None:
        async for event in runtime.events(session, after, follow=follow):
            output.json(event.as_dict())
            if not output.usable:
                break

    reading(project, db, show)
