"""The same turn on Postgres, beside the floor by hand on psycopg: time, statements, round trips."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

import psycopg

from agentflow.testing.postgres import schema
from tests.benchmarks.floor import MESSAGES
from tests.benchmarks.report import Figure
from tests.benchmarks.texts import QUESTION
from tests.benchmarks.workload import AGENT, Sizes, at_mark, median, open_runtime

SERVER = "AGENTFLOW_TEST_POSTGRES"
_TABLE = "CREATE TABLE message (session text, number integer, role text, content text)"
_INSERT = "INSERT INTO message VALUES (%s, %s, %s, %s)"
_TARGET = 3.5  # times the floor


class Counted:
    """What goes to the server: statements, and the times somebody waits for their answers."""

    statements = 0
    round_trips = 0


def measure(folder: Path, sizes: Sizes) -> list[Figure]:
    """Nothing without a server: `AGENTFLOW_TEST_POSTGRES` names it."""
    server = os.environ.get(SERVER)
    if server is None:
        sys.stderr.write(f"postgres is not measured: {SERVER} is not set\n")
        return []
    with schema(server) as url, _counting() as counted:
        floor, floor_counts = _floor(url, sizes, counted)
    with schema(server) as url, _counting() as counted:
        ours, counts = asyncio.run(_ours(folder, url, sizes, counted))
    with schema(server) as url:
        rate = asyncio.run(_crowd(folder, url, sizes))
    turns = [
        Figure(f"Postgres, turn {mark}", "ms", here, beside, _TARGET * beside)
        for mark in sizes.marks
        for here, beside in [(at_mark(ours, mark, sizes), at_mark(floor, mark, sizes))]
    ]
    names = ("statements a turn", "round trips a turn")
    return [
        *turns,
        *(
            Figure(f"Postgres, {name}", "each", here, beside)
            for name, here, beside in zip(names, counts, floor_counts, strict=True)
        ),
        Figure(f"Postgres, {sizes.sessions // 2} sessions at once", "turns/s", rate, target=400, more_is_better=True),
    ]


@contextmanager
def _counting() -> Iterator[Counted]:
    """Counts what psycopg's cursors are given; many rows of one statement are sent together, in pipeline mode."""
    counted, kind = Counted(), psycopg.Cursor
    execute, executemany = kind.execute, kind.executemany

    def counting(self: Any, *args: Any, **options: Any) -> Any:
        counted.statements += 1
        counted.round_trips += 1
        return execute(self, *args, **options)

    def counting_many(self: Any, query: Any, rows: Any, **options: Any) -> Any:
        given = list(rows)
        counted.statements += len(given)
        counted.round_trips += 1
        return executemany(self, query, given, **options)

    kind.execute, kind.executemany = counting, counting_many  # type: ignore[method-assign]
    try:
        yield counted
    finally:
        kind.execute, kind.executemany = execute, executemany  # type: ignore[method-assign]


async def _ours(folder: Path, url: str, sizes: Sizes, counted: Counted) -> tuple[list[float], tuple[float, float]]:
    times, statements, trips = list[float](), list[float](), list[float]()
    async with open_runtime(folder, db=url) as runtime:
        for _ in range(sizes.marks[-1]):
            before, started = (counted.statements, counted.round_trips), perf_counter()
            await runtime.run("long", AGENT, QUESTION)
            times.append((perf_counter() - started) * 1000)
            statements.append(counted.statements - before[0])
            trips.append(counted.round_trips - before[1])
    return times, (median(statements), median(trips))


def _floor(url: str, sizes: Sizes, counted: Counted) -> tuple[list[float], tuple[float, float]]:
    """The history in memory, four commits."""
    times = list[float]()
    with psycopg.connect(url.replace("+psycopg", "", 1), autocommit=True) as connection:
        cursor = connection.cursor()
        cursor.execute(_TABLE)
        before = counted.statements, counted.round_trips
        for turn in range(sizes.marks[-1]):
            started = perf_counter()
            for number, (role, content) in enumerate(MESSAGES):
                cursor.execute("BEGIN")
                cursor.execute(_INSERT, ("long", turn * len(MESSAGES) + number, role, content))
                cursor.execute("COMMIT")
            times.append((perf_counter() - started) * 1000)
    turns = sizes.marks[-1]
    return times, ((counted.statements - before[0]) / turns, (counted.round_trips - before[1]) / turns)


async def _crowd(folder: Path, url: str, sizes: Sizes) -> float:
    """Turns a second of half as many sessions as on SQLite."""
    sessions = max(sizes.sessions // 2, 1)

    async def session(name: str) -> None:
        for _ in range(sizes.turns_each):
            await runtime.run(name, AGENT, QUESTION)

    async with open_runtime(folder, db=url) as runtime:
        await runtime.run("first", AGENT, QUESTION)
        started = perf_counter()
        await asyncio.gather(*(session(f"crowd-{number}") for number in range(sessions)))
        return sessions * sizes.turns_each / (perf_counter() - started)
