"""`agentflow sessions rm`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..chat.history import forget, history_file
from ..engine import engine_options, with_runtime
from ..terminal.output import note

if TYPE_CHECKING:
    from agentflow import Runtime


@click.command("rm", short_help="Delete sessions for good.")
@click.argument("sessions", metavar="SESSION...", nargs=-1, required=True)
@engine_options
def command(sessions: tuple[str, ...], project: Path, db: str | None) -> None:
    """Delete each SESSION with everything that belongs to it; a running one is refused."""

    async def delete(runtime: Runtime) -> None:
        for session in sessions:
            await runtime.delete(session)
            forget(history_file(), [session])
            note(f"deleted {session}")

    with_runtime(project, db, delete)
