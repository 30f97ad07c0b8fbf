"""What a server looks after while it serves: sessions that are kept no longer, queues nobody serves (M3, R12)."""

from __future__ import annotations

import asyncio
import logging

from agentflow import AgentflowError, Runtime

QUEUES_SECS = 30.0
RETENTION_SECS = 3600.0

_log = logging.getLogger("agentflow.server")


async def sweep(runtime: Runtime) -> None:
    """Sweeps for ever; of several processes on one database one deletes at a time, by lease."""
    loop = asyncio.get_running_loop()
    swept = -RETENTION_SECS
    while True:
        try:
            await runtime.take_up_queues()
            if loop.time() - swept >= RETENTION_SECS:
                swept = loop.time()
                await _forget(runtime)
        except AgentflowError as error:
            _log.warning("what is due could not be looked after: %s", error)
        await asyncio.sleep(QUEUES_SECS)


async def _forget(runtime: Runtime) -> None:
    """Delete sessions that were kept long enough, and answers that nobody asks for again."""
    deleted = (await runtime.records.sweep())["deleted"]
    if deleted:
        _log.info("%d sessions are deleted, they were kept long enough", len(deleted))
    await runtime.repeats.forget()
