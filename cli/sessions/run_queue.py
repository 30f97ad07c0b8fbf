"""`agentflow sessions run-queue`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..engine import engine_options, place, with_runtime
from ..exits import Exit, of_turn
from ..terminal.output import Output, note

if TYPE_CHECKING:
    from agentflow import Runtime, TurnResult

    from ..terminal.status import Status


@click.command("run-queue", short_help="Run the turns that wait in a session.")
@click.argument("session")
@click.option("--json", "as_json", is_flag=True, help="Print each result as one line of JSON.")
@engine_options
@click.pass_obj
def command(output: Output, session: str, as_json: bool, project: Path, db: str | None) -> int:
    """Run the turns that wait in SESSION, in order, until none waits, one asks or one is stopped."""
    return with_runtime(
        project, db, lambda runtime: _run(runtime, session, output, place(project, db), as_json=as_json)
    )


async def _run(runtime: Runtime, session: str, output: Output, where: tuple[str, ...], *, as_json: bool) -> int:
    from ..terminal.interrupts import Interrupts
    from ..terminal.waiting import tell_waiting

    async with Interrupts() as interrupts:
        interrupts.ends_by(lambda: runtime.stop(session), runtime.end_turns)
        results = await _shown(runtime, session, output)
        codes = [of_turn(result.state, result.error["code"] if result.error else None) for result in results]
        code = interrupts.exit_code or next((code for code in codes if code), Exit.DONE)
        interrupts.has_result(runtime)
        for result in results:
            _tell(result, output, as_json=as_json)
        if not results:
            note("nothing waits")
        await tell_waiting(runtime, session, where)
        await runtime.close()
    return code


def _tell(result: TurnResult, output: Output, *, as_json: bool) -> None:
    if as_json:
        output.json(result.as_dict())
    elif result.answer:
        output.line(result.answer)
    if result.error:
        note(f"error ({result.error['code']}): {result.error['message']}")


async def _shown(runtime: Runtime, session: str, output: Output) -> list[TurnResult]:
    """Run the queue, and show what goes on meanwhile."""
    import asyncio

    from agentflow import redact

    from ..terminal.status import Status

    async with Status(lambda: None, streams=False, quiet=output.quiet) as status:
        following = asyncio.create_task(_follow(runtime, session, status))
        try:
            return await runtime.run_queue(session)
        finally:
            following.cancel()
            (ended,) = await asyncio.gather(following, return_exceptions=True)
            if isinstance(ended, Exception):  # the turns are done all the same
                note(redact(f"note: what went on could not be shown to its end: {ended}"), "note")


async def _follow(runtime: Runtime, session: str, status: Status) -> None:
    async for event in runtime.events(session, follow=True):
        status.event(event)
