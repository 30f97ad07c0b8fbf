"""The engine from synchronous code: a runtime for one piece of work, and one turn."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from agentflow import clock
from agentflow.agents.loading import OpenModel
from agentflow.errors import InvalidInput
from agentflow.result import TurnResult
from agentflow.runtime import Runtime

T = TypeVar("T")

_GIVE_UP_SECS = 1.0


def with_runtime(
    work: Callable[[Runtime], Awaitable[T]],
    project: str | Path = ".",
    *,
    db: str | None = None,
    serve_queues: bool = True,
    read_only: bool = False,
    trusted: bool = True,
    open_model: OpenModel | None = None,
) -> T:
    """Open a project, do the work, close it, and return what the work returned.

    The options are as `Runtime.open` takes them. A flow that refuses to be cancelled does not hold the caller for
    longer than a second. Raises what `Runtime.open` and the work raise, and `InvalidInput` inside a running event loop,
    as a notebook has one.
    """
    _refuse_running_loop()

    async def opened() -> T:
        async with Runtime.open(
            project, db=db, serve_queues=serve_queues, read_only=read_only, trusted=trusted, open_model=open_model
        ) as runtime:
            return await work(runtime)

    runner = asyncio.Runner()
    try:
        return runner.run(opened())
    finally:
        loop = runner.get_loop()
        if loop.run_until_complete(_tasks_end()):
            runner.close()
        else:
            loop.set_exception_handler(lambda *_: None)


def _refuse_running_loop() -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise InvalidInput(
        "An event loop is running here already: write `async with Runtime.open(...) as runtime:` and "
        "`await runtime.run(...)` instead."
    )


async def _tasks_end() -> bool:
    """Cancel whatever still runs; whether it took the hint."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    return not tasks or not (await asyncio.wait(tasks, timeout=_GIVE_UP_SECS))[1]


def run_turn(
    agent: str,
    text: str,
    *,
    session: str | None = None,
    project: str | Path = ".",
    db: str | None = None,
    inputs: Mapping[str, Any] | None = None,
    limits: Mapping[str, Any] | None = None,
) -> TurnResult:
    """Run one turn from synchronous code: `run_turn("agents/support", "Where is my invoice?", session="s-1")`.

    Without `session` the turn has a session of its own. Raises what `Runtime.submit` raises.
    """
    session_id = clock.uuid7() if session is None else session
    return with_runtime(
        lambda runtime: runtime.run(session_id, agent, text, inputs=inputs, limits=limits), project, db=db
    )
