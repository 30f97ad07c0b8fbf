"""Jobs that surely meet in one group: they are given while the writer is held by another."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

from agentflow.store.sql.transaction import Tx
from agentflow.store.sql.writer import Writer

Job = Callable[[Tx], Any]


async def together(writer: Writer, *jobs: Job) -> list[Any]:
    """The results or errors of the jobs, run as one group."""
    release, held = threading.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def hold(tx: Tx) -> None:
        loop.call_soon_threadsafe(held.set)
        release.wait()

    holding = asyncio.create_task(writer.run(hold))
    await held.wait()
    tasks = [asyncio.create_task(writer.run(job)) for job in jobs]
    await asyncio.sleep(0)  # each task has put its job into the queue
    release.set()
    await holding
    return await asyncio.gather(*tasks, return_exceptions=True)
