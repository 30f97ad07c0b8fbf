"""What a turn costs as its session grows: time, commits, disk."""

from __future__ import annotations

import asyncio
from pathlib import Path
from time import perf_counter

from tests.benchmarks.floor import Floor, disk_bytes
from tests.benchmarks.report import Figure
from tests.benchmarks.texts import QUESTION, TEXT_BYTES
from tests.benchmarks.workload import AGENT, Sizes, at_mark, median, open_runtime

SESSION = "long"
_TARGETS = (2.5, 2.5, 3.5)


def measure(folder: Path, sizes: Sizes) -> list[Figure]:
    ours, commits, disk = asyncio.run(_ours(folder, sizes))
    floor, floor_disk = _floor(folder, sizes)
    cold = [asyncio.run(_cold(folder)) for _ in range(sizes.repeats)]
    text = sizes.marks[1] * TEXT_BYTES
    return [
        *(
            Figure(f"turn {mark}", "ms", at_mark(ours, mark, sizes), at_mark(floor, mark, sizes), target)
            for mark, target in zip(sizes.marks, _TARGETS, strict=True)
        ),
        Figure(f"turn {sizes.marks[-1]}, loading cold", "ms", median(cold), _cold_floor(folder, sizes), 15),
        Figure("commits a turn", "each one flush", commits, 4, 4),
        Figure(f"disk after {sizes.marks[1]} turns", "x text", disk / text, floor_disk / text, 2.5),
    ]


async def _ours(folder: Path, sizes: Sizes) -> tuple[list[float], float, int]:
    """Milliseconds of every turn, commits of the median turn, bytes at the second mark."""
    seen = [0]
    times, commits, disk = list[float](), list[float](), 0

    def count(number: int) -> None:
        seen[0] = number

    async with open_runtime(folder, on_commit=count) as runtime:
        for turn in range(1, sizes.marks[-1] + 1):
            before, started = seen[0], perf_counter()
            await runtime.run(SESSION, AGENT, QUESTION)
            times.append((perf_counter() - started) * 1000)
            commits.append(seen[0] - before)
            if turn == sizes.marks[1]:
                disk = disk_bytes(folder / "ours.db")
    return times, median(commits), disk


def _floor(folder: Path, sizes: Sizes) -> tuple[list[float], int]:
    times, disk = list[float](), 0
    with Floor(folder / "floor.db") as floor:
        for turn in range(1, sizes.marks[-1] + 1):
            started = perf_counter()
            floor.turn(SESSION)
            times.append((perf_counter() - started) * 1000)
            if turn == sizes.marks[1]:
                disk = disk_bytes(folder / "floor.db")
    return times, disk


async def _cold(folder: Path) -> float:
    """Milliseconds of the first turn of a session in a runtime that has not seen it yet."""
    async with open_runtime(folder) as runtime:
        await runtime.run("another", AGENT, QUESTION)
        started = perf_counter()
        await runtime.run(SESSION, AGENT, QUESTION)
        return (perf_counter() - started) * 1000


def _cold_floor(folder: Path, sizes: Sizes) -> float:
    times = []
    for _ in range(sizes.repeats):
        with Floor(folder / "floor.db") as floor:
            started = perf_counter()
            floor.load(SESSION)
            floor.turn(SESSION)
            times.append((perf_counter() - started) * 1000)
    return median(times)
