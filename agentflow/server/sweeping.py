"""What a server looks after while it serves: sessions that are kept no longer, queues nobody serves (M3, R12)."""

from __future__ import annotations

import asyncio
import logging

from agentflow import AgentflowError, Runtime

RETENTION_SECS = 3600.0

_log = logging.getLogger("agentflow.server")


async def sweep(runtime: Runtime) -> None:
    """Sweeps for ever; of several processes on one database one sweeps at a time, by lease."""
    while True:
        try:
            swept = await runtime.records.sweep()
            if swept["deleted"]:
                _log.info("%d sessions are deleted, they were kept long enough", len(swept["deleted"]))
        except AgentflowError as error:
            _log.warning("sessions could not be swept: %s", error)
        await asyncio.sleep(RETENTION_SECS)
