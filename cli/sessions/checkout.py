"""`agentflow sessions checkout`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..engine import engine_options, place, with_runtime
from ..terminal.output import Output
from ..terminal.waiting import tell_waiting

if TYPE_CHECKING:
    from agentflow import Runtime


@click.command("checkout", short_help="Move a session's head to a message, on whichever branch.")
@click.argument("session")
@click.argument("message")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@engine_options
@click.pass_obj
def command(output: Output, session: str, message: str, as_json: bool, project: Path, db: str | None) -> None:
    """Move the head of SESSION to MESSAGE; the next message follows it. No turn runs."""
    moved = with_runtime(project, db, lambda runtime: _checkout(runtime, session, message, place(project, db)))
    if as_json:
        output.json(moved, indent=2)
    else:
        output.line(f"{moved['head_id']}" if moved["moved"] else f"{moved['head_id']} (it stood there already)")


async def _checkout(runtime: Runtime, session: str, message: str, where: tuple[str, ...]) -> dict[str, Any]:
    moved = await runtime.checkout(session, message)
    await tell_waiting(runtime, session, where)
    return moved
