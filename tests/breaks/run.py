"""Applies breaks to copies of the tree, one at a time, and runs the tests that should notice."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from queue import SimpleQueue
from typing import Literal

from tests.breaks.entry import ROOT, Break
from tests.breaks.warm import SECS

Verdict = Literal["noticed", "SURVIVED", "broken entry"]

_FAILED, _PASSED = 1, 0
_NOT_COPIED = shutil.ignore_patterns(".*", "__pycache__", "*.egg-info", "build", "dist", "node_modules")


@dataclass(frozen=True, slots=True)
class Told:
    """What came of a break; `by` is the test that noticed it, or what is wrong with the entry."""

    entry: Break
    verdict: Verdict
    by: str


class Tree:
    """A copy of the checkout in which one break at a time is in force, and the process that runs its tests."""

    def __init__(self, folder: Path) -> None:
        self._root = folder
        self._writes = count(1)
        shutil.copytree(ROOT, folder, ignore=_NOT_COPIED, dirs_exist_ok=True)
        where = [sys.executable, "-c", "import agentflow; print(agentflow.__file__)"]
        environment = {**os.environ, "PYTHONPATH": str(folder)}
        said = subprocess.check_output(where, cwd=folder, env=environment, text=True).strip()
        if not Path(said).is_relative_to(folder):
            raise RuntimeError(f"the copy at {folder} is not what is imported there, but {said}")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.breaks.warm"], cwd=folder, env=environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def close(self) -> None:
        self._process.communicate()

    def judge(self, entry: Break) -> Told:
        """Break it, run its tests, mend it."""
        if (problem := entry.problem(self._root)) is not None:
            return Told(entry, "broken entry", problem)
        path = self._root / entry.path
        whole = path.read_text("utf-8")
        self._write(path, whole.replace(entry.old, entry.new))
        try:
            code, by = self.test(entry.tests)
        finally:
            self._write(path, whole)
        if code not in (_PASSED, _FAILED):
            return Told(entry, "broken entry", f"pytest ended with {code}: {by}")
        return Told(entry, "noticed" if code == _FAILED else "SURVIVED", by)

    def test(self, tests: Sequence[str]) -> tuple[int, str]:
        """Run tests up to the first failure; the exit code of pytest, and the line that says what failed."""
        named = [f"tests/{test}" for test in tests]
        asked = ["-x", "-q", "-p", "no:cacheprovider", "--tb=no", *named]
        if self._process.stdin is None or self._process.stdout is None:
            raise RuntimeError("the process of the tree cannot be talked to")
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        code, output = json.loads(self._process.stdout.readline())
        if code is None:
            return _FAILED, f"did not end within {SECS} s"
        lines = output.strip().splitlines() or ["nothing was said"]
        failed = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
        return code, (failed or lines)[-1]

    def _write(self, path: Path, text: str) -> None:
        """Each time with an age of its own, so that no compiled file of another text is taken for it."""
        path.write_text(text, "utf-8")
        written = 1_000_000_000 + next(self._writes) * 10
        os.utime(path, (written, written))


def judge_all(entries: Sequence[Break], jobs: int, tell: Callable[[Told], None]) -> list[Told]:
    """Judge every break, with as many trees as `jobs`, telling of each as it is known."""
    with _trees(jobs) as trees, ThreadPoolExecutor(jobs) as pool:

        def one(entry: Break) -> Told:
            tree = trees.get()
            try:
                told = tree.judge(entry)
            finally:
                trees.put(tree)
            tell(told)
            return told

        return list(pool.map(one, entries))


def unbroken(entries: Sequence[Break]) -> str | None:
    """What fails of their tests where nothing is broken: then they would notice anything."""
    with _trees(1) as trees:
        code, by = trees.get().test(sorted({test for entry in entries for test in entry.tests}))
    return None if code == _PASSED else by


@contextmanager
def _trees(number: int) -> Iterator[SimpleQueue[Tree]]:
    with tempfile.TemporaryDirectory(prefix="breaks-") as folder:
        trees: SimpleQueue[Tree] = SimpleQueue()
        made = [Tree(Path(folder).resolve() / str(index)) for index in range(number)]
        try:
            for tree in made:
                trees.put(tree)
            yield trees
        finally:
            for tree in made:
                tree.close()
