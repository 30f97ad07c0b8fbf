"""The loop that a kit's runtimes live in: it runs only while something is asked of it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, TypeVar

import agentflow
from agentflow import Runtime

T = TypeVar("T")


class KitLoop:
    """Runs one piece of work after the other."""

    def __init__(self) -> None:
        self._runner = asyncio.Runner()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """What the work returns. Raises `InvalidInput` where a loop runs already, as in an async test."""
        if is_inside_loop():
            work.close()
            raise agentflow.InvalidInput(
                "This call of the kit lets the event loop run, and an async test runs in it already: await the "
                "runtime's own methods there, as in `await agentflow.runtime.run(...)`."
            )
        return self._runner.run(work)

    def is_running(self) -> bool:
        """Whether some work is being run, here or by the loop of an async test."""
        return is_inside_loop() or self._runner.get_loop().is_running()

    def abandon(self, runtime: Runtime) -> None:
        """Let go of a runtime whose process is gone: none of its tasks gets a last word."""
        self.run(_abandoned(runtime))

    def close(self) -> None:
        self._runner.close()


def is_inside_loop() -> bool:
    """Whether the code around is run by an event loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


async def _abandoned(runtime: Runtime) -> None:
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    with suppress(agentflow.AgentflowError):
        await runtime.close()
