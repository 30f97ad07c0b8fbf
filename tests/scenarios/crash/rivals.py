"""A process that answers a question many times at once.

Run as `python -m tests.scenarios.crash.rivals PROJECT DB SESSION CALL N`. Says `ready`, waits for a line, and prints
how each answer was taken, as JSON.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from agentflow import AgentflowError, Runtime
from tests.scenarios.crash.program import opened


async def answer(runtime: Runtime, session: str, call_id: str, text: str) -> str:
    try:
        receipt = await runtime.answer(session, tool_call_id=call_id, text=text)
    except AgentflowError as refused:
        return refused.code
    return (await runtime.result(session, receipt.turn_id)).state


async def rival(project: str, db: str, session: str, call_id: str, count: int) -> list[str]:
    async with opened(Path(project), db) as runtime:
        await runtime.status(session)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        await asyncio.to_thread(sys.stdin.readline)
        return await asyncio.gather(*[answer(runtime, session, call_id, f"answer {n}") for n in range(count)])


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asyncio.run(rival(*sys.argv[1:5], int(sys.argv[5])))) + "\n")
