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
        if _is_inside_one():
            work.close()
            raise agentflow.InvalidInput(
                "This call of the kit lets the event loop run, and an async test runs in it already: await the "
                "runtime's own methods there, as in `await agentflow.runtime.run(...)`."
            )
        return self._runner.run(work)

    def abandon(self, runtime: Runtime) -> None:
        """Let go of a runtime whose process is gone: none of its tasks gets a last word."""
        self.run(_abandoned(runtime))

    def close(self) -> None:
        self._runner.close()


def _is_inside_one() -> bool:
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
