"""`agentflow submit`: any client input as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..engine import engine_options, following_options, place, with_runtime
from ..terminal.output import Output, note
from ..terminal.views import Answer, view_of
from ..terminal.waiting import tell_waiting

if TYPE_CHECKING:
    from agentflow import Runtime


_MOST_CHARS = 32_000_000  # of an input (Z3); one more is refused when it is read


@click.command("submit", short_help="Submit a client input as JSON, and run its turn.")
@click.argument("session")
@click.option(
    "--input",
    "file",
    type=click.File("r", encoding="utf-8"),
    required=True,
    metavar="FILE",
    help="A file, or - for standard input.",
)
@click.option("--json", "form", flag_value="json", help="Print the result as one JSON object.")
@click.option("--jsonl", "form", flag_value="jsonl", help="Print the events as JSON lines, the result last.")
@following_options
@engine_options
@click.pass_obj
def command(output: Output, session: str, file: Any, form: str | None, project: Path, db: str | None) -> int:
    """Submit one input to SESSION: client.message, client.append, client.messages, head.move or ask_user.answer.

    An input that starts a session names its agent with agent_id.
    """
    given, view, where = _read(file), view_of(form, output), place(project, db)
    return with_runtime(project, db, lambda runtime: _submit(runtime, session, given, view, where))


def _read(file: Any) -> dict[str, Any]:
    from agentflow import read_json

    try:
        given = read_json(file.read(_MOST_CHARS + 1))
    except ValueError as error:
        raise click.UsageError(f"the input is not JSON: {error}") from None
    if not isinstance(given, dict):
        raise click.UsageError("the input must be a JSON object")
    return given


async def _submit(runtime: Runtime, session: str, given: dict[str, Any], view: Answer, where: tuple[str, ...]) -> int:
    from ..terminal.interrupts import Interrupts
    from .follow import Hints, follow_turn

    async with Interrupts() as interrupts:
        receipt = await runtime.submit(session, given)
        if not receipt.turn_id:
            moved = given["type"] == "head.move"
            note(f"the head of {session} is at {given['message_id']}" if moved else f"recorded in {session}")
            await tell_waiting(runtime, session, where)
            return interrupts.exit_code or 0
        agent = (await runtime.status(session))["agent_id"]
        hints = Hints(["agentflow", "run", agent, "-s", session, *where], where)
        return await follow_turn(runtime, receipt, view, hints, interrupts)
