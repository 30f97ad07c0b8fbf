"""Measure and print: `python -m tests.benchmarks [PART]... [--folder FOLDER]`.

The databases are made in a temporary folder inside FOLDER, so its disk is the one that is measured.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter

from tests.benchmarks import branches, crowd, model_calls, postgres, startup, streaming, turns
from tests.benchmarks.report import Figure, table
from tests.benchmarks.workload import Sizes, median

PARTS: dict[str, Callable[[Path, Sizes], list[Figure]]] = {
    "turns": turns.measure,
    "crowd": crowd.measure,
    "streaming": streaming.measure,
    "branches": branches.measure,
    "model_calls": model_calls.measure,
    "startup": startup.measure,
    "postgres": postgres.measure,
}


def main(arguments: Sequence[str]) -> None:
    """Runs the parts that are named, or all of them."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("parts", metavar="PART", nargs="*", help=f"one of {', '.join(PARTS)}; all without one")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()), help="where the databases are made")
    given = parser.parse_args(arguments)
    if unknown := set(given.parts) - set(PARTS):
        parser.error(f"there is no part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    run(given.parts or list(PARTS), given.folder, Sizes())


def run(parts: Sequence[str], folder: Path, sizes: Sizes) -> None:
    """Measures the parts and prints their table, beside what one flush of this disk takes."""
    figures = []
    with tempfile.TemporaryDirectory(prefix="benchmark-", dir=folder) as made:
        flush = _flush_ms(Path(made) / "flushed")
        for part in parts:
            own = Path(made) / part
            own.mkdir()
            figures += PARTS[part](own, sizes)
    sys.stdout.write(f"{table(figures)}\n\n{os.cpu_count()} cores, a flush takes {flush:.2f} ms\n")


def _flush_ms(path: Path) -> float:
    times = []
    with path.open("wb", buffering=0) as file:
        for _ in range(50):
            file.write(bytes(4096))
            started = perf_counter()
            os.fsync(file.fileno())
            times.append((perf_counter() - started) * 1000)
    return median(times)


if __name__ == "__main__":
    main(sys.argv[1:])
