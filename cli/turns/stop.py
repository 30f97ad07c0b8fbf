"""`agentflow stop`: end a session's turn from another terminal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..engine import engine_options, place, with_runtime
from ..terminal.output import Output
from ..terminal.waiting import tell_waiting

if TYPE_CHECKING:
    from agentflow import Runtime

_SENTENCES = {
    "stopped": "stopped turn {turn_id}",
    "requested": "turn {turn_id} has been asked to stop and has not ended yet",
    "nothing_to_stop": "nothing to stop",
}


@click.command("stop", short_help="Stop a session's turn.")
@click.argument("session")
@engine_options
@click.pass_obj
def command(output: Output, session: str, project: Path, db: str | None) -> None:
    """Stop the turn of SESSION that runs, in whichever process, or that waits for an answer; what was said is kept."""
    stopped = with_runtime(project, db, lambda runtime: _stop(runtime, session, place(project, db)))
    output.line(_SENTENCES[stopped["outcome"]].format(**stopped))


async def _stop(runtime: Runtime, session: str, where: tuple[str, ...]) -> dict[str, Any]:
    stopped = await runtime.stop(session)
    await tell_waiting(runtime, session, where)
    return stopped
