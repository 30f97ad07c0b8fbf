"""Starting: whole processes, from the shell's point of view, with compiled modules as an installation has them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter

from tests.benchmarks.report import Figure
from tests.benchmarks.texts import QUESTION
from tests.benchmarks.workload import AGENT, Sizes, make_project, median

_ROOT = Path(__file__).parents[2]
_SCRIPT = """
import sys, agentflow
agent, text, project, db = sys.argv[1:]
print(agentflow.run_turn(agent, text, project=project, db=db).answer)
"""
_FLOOR = """
import sys
from pathlib import Path
from tests.benchmarks.floor import Floor
with Floor(Path(sys.argv[1])) as floor:
    floor.turn("one")
"""


def measure(folder: Path, sizes: Sizes) -> list[Figure]:
    project = make_project(folder)
    cache = folder / "compiled"
    turn = ["-c", _SCRIPT, AGENT, QUESTION, str(project)]

    def timed(arguments: Sequence[str], before: Callable[[], None] = lambda: None) -> float:
        _process(arguments, cache, before)
        return median([_process(arguments, cache, before) for _ in range(sizes.repeats)])

    def new_database() -> None:
        for path in folder.glob("new.db*"):
            path.unlink()

    python = timed(["-c", "pass"])
    floor = timed(["-c", _FLOOR, str(folder / "floor.db")])
    return [
        Figure("one-turn script, cold", "ms", timed([*turn, str(folder / "ours.db")]), floor, 600),
        Figure("one-turn script, cold, new database", "ms", timed([*turn, str(folder / "new.db")], new_database)),
        Figure("agentflow --help", "ms", timed(["-m", "cli", "--help"]), python, 150),
        Figure("import agentflow", "ms", timed(["-c", "import agentflow"]), python, 100),
        Figure("agentflow validate", "ms", timed(["-m", "cli", "validate", str(project)]), python, 350),
    ]


def _process(arguments: Sequence[str], cache: Path, before: Callable[[], None]) -> float:
    """Milliseconds of a Python process. Raises `CalledProcessError` when it fails."""
    before()
    environment = os.environ | {
        "PYTHONPATH": str(_ROOT),
        "PYTHONPYCACHEPREFIX": str(cache),
        "PYTHONDONTWRITEBYTECODE": "",
    }
    started = perf_counter()
    subprocess.run([sys.executable, *arguments], env=environment, capture_output=True, check=True)
    return (perf_counter() - started) * 1000
