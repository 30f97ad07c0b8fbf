"""The benchmarks run; what they measure is nobody's condition (DESIGN, engineering)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.benchmarks.__main__ import PARTS, run
from tests.benchmarks.postgres import SERVER
from tests.benchmarks.report import Figure, table
from tests.benchmarks.workload import Sizes

TINY = Sizes((1, 2, 3), window=1, sessions=2, turns_each=1, deltas=5, messages=12, branches=2, repeats=1)


@pytest.mark.parametrize("part", PARTS)
def test_each_part_prints_its_figures(part: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if part == "postgres" and SERVER not in os.environ:
        pytest.skip(f"{SERVER} is not set")
    run([part], tmp_path, TINY)
    header, *lines, _, footer = capsys.readouterr().out.splitlines()
    assert header.split() == ["ours", "floor", "ratio", "target"]
    assert len(lines) >= 2
    assert "a flush takes" in footer


def test_a_figure_stands_beside_its_floor_and_its_target() -> None:
    slow = Figure("turn", "ms", 3, 1.5, 2.5)
    enough = Figure("rate", "turns/s", 1200, target=600, more_is_better=True)
    assert slow.misses
    assert not enough.misses
    assert [line.split() for line in table([slow, enough]).splitlines()[1:]] == [
        ["turn", "(ms)", "3", "1.5", "2.0", "x", "≤", "2.5", "missed"],
        ["rate", "(turns/s)", "1,200", "≥", "600"],
    ]
