"""Many sessions at once, each with one turn after the other."""

from __future__ import annotations

import asyncio
from pathlib import Path
from time import perf_counter

from tests.benchmarks.floor import Floor
from tests.benchmarks.report import Figure
from tests.benchmarks.texts import QUESTION
from tests.benchmarks.workload import AGENT, Sizes, open_runtime, percentile


def measure(folder: Path, sizes: Sizes) -> list[Figure]:
    rate, latencies, errors = asyncio.run(_ours(folder, sizes))
    name = f"{sizes.sessions} sessions at once"
    return [
        Figure(name, "turns/s", rate, _floor(folder, sizes), 600, more_is_better=True),
        Figure(f"{name}, p50", "ms", percentile(latencies, 0.5)),
        Figure(f"{name}, p99", "ms", percentile(latencies, 0.99), target=500),
        Figure(f"{name}, turns that did not end well", "turns", errors, target=0),
    ]


async def _ours(folder: Path, sizes: Sizes) -> tuple[float, list[float], int]:
    latencies, errors = list[float](), [0]

    async def session(name: str) -> None:
        for _ in range(sizes.turns_each):
            started = perf_counter()
            result = await runtime.run(name, AGENT, QUESTION)
            latencies.append((perf_counter() - started) * 1000)
            errors[0] += result.state != "done"

    async with open_runtime(folder) as runtime:
        await runtime.run("first", AGENT, QUESTION)
        started = perf_counter()
        await asyncio.gather(*(session(f"crowd-{number}") for number in range(sizes.sessions)))
        return sizes.sessions * sizes.turns_each / (perf_counter() - started), latencies, errors[0]


def _floor(folder: Path, sizes: Sizes) -> float:
    with Floor(folder / "floor.db") as floor:
        started = perf_counter()
        for _ in range(sizes.turns_each):
            for number in range(sizes.sessions):
                floor.turn(f"crowd-{number}")
        return sizes.sessions * sizes.turns_each / (perf_counter() - started)
