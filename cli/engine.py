"""How a command reaches the engine: the shared options, and a runtime that lives as long as the work."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from agentflow import Runtime

_GIVE_UP_SECS = 1.0

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

project_option = click.option(
    "--project",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=Path("."),
    help="Folder of the project.  [default: the current one]",
)
_db_option = click.option("--db", metavar="URL", help="Database of the sessions, a file or a URL.")


def engine_options(command: F) -> F:
    """Gives a command `project` and `db`, as `with_runtime` takes them."""
    return project_option(_db_option(command))


def place(project: Path, db: str | None) -> tuple[str, ...]:
    """The options that name this project and database in a command that is printed."""
    named = () if project == Path(".") else ("--project", str(project))
    return named if db is None else (*named, "--db", db)


def with_runtime(project: Path, db: str | None, work: Callable[[Runtime], Awaitable[T]]) -> T:
    """Opens the project, does the work and closes it again."""
    import asyncio

    from agentflow import Runtime

    async def opened() -> T:
        async with Runtime.open(project, db=db, serve_queues=False) as runtime:
            return await work(runtime)

    runner = asyncio.Runner()
    try:
        return runner.run(opened())
    finally:
        loop = runner.get_loop()
        if loop.run_until_complete(_tasks_end()):
            runner.close()
        else:  # a flow that refuses to be cancelled must not hold the process; it dies with it
            loop.set_exception_handler(lambda *_: None)


async def _tasks_end() -> bool:
    """Cancels whatever still runs; whether it took the hint."""
    import asyncio

    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    return not tasks or not (await asyncio.wait(tasks, timeout=_GIVE_UP_SECS))[1]
