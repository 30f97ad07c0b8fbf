"""What a streamed delta costs on its way from the model to a reader of the events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from time import perf_counter

from agentflow import Runtime
from agentflow.events import LLM_DELTA
from agentflow.models.protocol import Delta, FinishReason, Model, ModelRequest, TextDelta
from tests.benchmarks.report import Figure
from tests.benchmarks.texts import QUESTION
from tests.benchmarks.workload import AGENT, Sizes, median, open_runtime

_PIECE = "word "
_PAUSE_SECS = 0.02


class _Streaming:
    """Streams its deltas as fast as they are taken; with `pause`, waits after the first one."""

    name = "streaming"
    scripted = True

    def __init__(self) -> None:
        self.count = 0
        self.pause = False
        self.first_at = 0.0

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta, None]:
        self.first_at = perf_counter()
        for number in range(self.count):
            yield TextDelta(_PIECE)
            if self.pause and not number:
                await asyncio.sleep(_PAUSE_SECS)
        yield TextDelta(".")
        yield FinishReason("stop")

    async def close(self) -> None:
        """Nothing is held open."""


def measure(folder: Path, sizes: Sizes) -> list[Figure]:
    each, first = asyncio.run(_ours(folder, sizes))
    floor = median([asyncio.run(_floor(sizes.deltas)) for _ in range(sizes.repeats)])
    return [
        Figure("each streamed delta, read", "µs", each, floor, 6),
        Figure("first delta, model to reader", "ms", first, target=1),
    ]


async def _ours(folder: Path, sizes: Sizes) -> tuple[float, float]:
    """Microseconds a delta, as the difference to a turn with none; milliseconds to the first one."""
    model = _Streaming()

    def open_model(*_: object) -> Model:
        return model

    async with open_runtime(folder, model=open_model) as runtime:
        await _turn(runtime, "warm")
        bare = median([await _turn(runtime, f"bare-{number}") for number in range(sizes.repeats)])
        model.count = sizes.deltas
        full = median([await _turn(runtime, f"full-{number}") for number in range(sizes.repeats)])
        model.count, model.pause, firsts = 1, True, []
        for number in range(sizes.repeats):
            firsts.append((await _first(runtime, f"first-{number}") - model.first_at) * 1000)
    return (full - bare) / sizes.deltas * 1e6, median(firsts)


async def _turn(runtime: Runtime, session: str) -> float:
    """Seconds of a turn whose events are all read."""
    started = perf_counter()
    receipt = await runtime.submit(session, _message())
    async for _ in runtime.events(session, receipt.after_seq, receipt.turn_id):
        pass
    return perf_counter() - started


async def _first(runtime: Runtime, session: str) -> float:
    """When the first delta came to a reader that had read all there was before."""
    receipt = await runtime.submit(session, _message())
    await runtime.result(session, receipt.turn_id)
    reader = asyncio.create_task(_await_delta(runtime, session))
    await asyncio.sleep(_PAUSE_SECS)
    await runtime.submit(session, _message())
    return await reader


async def _await_delta(runtime: Runtime, session: str) -> float:
    async for event in runtime.events(session, follow=True):
        if event.type == LLM_DELTA:
            break
    return perf_counter()


def _message() -> dict[str, object]:
    return {"type": "client.message", "agent_id": AGENT, "message": {"role": "user", "content": QUESTION}}


async def _floor(deltas: int) -> float:
    """Microseconds a delta that only goes through a generator and a queue."""
    model, unread = _Streaming(), asyncio.Queue[Delta]()
    model.count = deltas
    started = perf_counter()
    async for delta in model.stream(ModelRequest("", "main", ())):
        unread.put_nowait(delta)
    while not unread.empty():
        await unread.get()
    return (perf_counter() - started) / deltas * 1e6
