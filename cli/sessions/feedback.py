"""`agentflow sessions feedback`."""

from __future__ import annotations

from pathlib import Path

import click

from ..engine import engine_options, with_runtime
from ..terminal.output import Output


@click.command("feedback", short_help="Say what you think of a step's answer.")
@click.argument("session")
@click.argument("order", type=click.IntRange(min=1))
@click.argument("rating", type=click.Choice(["up", "down", "1", "2", "3", "4", "5"]))
@click.argument("text", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@engine_options
@click.pass_obj
def command(
    output: Output,
    session: str,
    order: int,
    rating: str,
    text: str | None,
    as_json: bool,
    project: Path,
    db: str | None,
) -> None:
    """Rate step ORDER of SESSION, with a TEXT if you like; a later rating replaces the earlier one."""
    kept = with_runtime(project, db, lambda runtime: runtime.records.feedback(session, order, rating, text))
    if as_json:
        output.json(kept, indent=2)
    else:
        output.line(f"step {order}: {rating}")
