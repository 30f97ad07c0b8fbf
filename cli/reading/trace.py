"""`agentflow trace`: what a turn did, as an indented list with times."""

from __future__ import annotations

from pathlib import Path

import click

from ..engine import engine_options, reading
from ..terminal.output import Output
from ..terminal.plain import one_line
from .waterfall import waterfall


@click.command("trace", short_help="Show what a turn did, in order.")
@click.argument("session")
@click.option("--turn", metavar="N", help="Number of the turn, or its id.  [default: the newest]")
@click.option(
    "--request", metavar="N", help="Instead print the exact request of the turn's N-th model call, or of a call's id."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, in one line with --request.")
@engine_options
@click.pass_obj
def command(
    output: Output, session: str, turn: str | None, request: str | None, as_json: bool, project: Path, db: str | None
) -> None:
    """Show a turn of SESSION as an indented list with times.

    It has model calls with tokens and cost, tools, hooks, sub-agents, questions, compactions, plan and todos.
    """
    named = int(turn) if turn is not None and turn.isdecimal() else turn
    if request is not None:
        call = int(request) if request.isdecimal() else request
        sent = reading(project, db, lambda runtime: runtime.records.request(session, call, turn=named))
        output.json(sent, indent=None if as_json else 2)
        return
    found = reading(project, db, lambda runtime: runtime.trace(session, named))
    if as_json:
        output.json(found, indent=2)
    else:
        output.write("".join(f"{one_line(line)}\n" for line in waterfall(found)))
