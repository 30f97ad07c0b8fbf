"""Deliberate breaks of the engine, each a text put in place of another while its module is loaded.

Each is looked for in a process of its own; found means that a life violated something, at the seed that is named.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType

_LIVES = 80


@dataclass(frozen=True, slots=True)
class Break:
    name: str
    module: str
    old: str
    new: str


BREAKS: tuple[Break, ...] = (
    Break(
        "the last of the queue goes first", "agentflow.store.session.waiting",
        "first = load(tx, session.key)[0]", "first = load(tx, session.key)[-1]",
    ),
    Break(
        "what closes a turn leaves its calls open", "agentflow.store.session.close_turn",
        "    _close_calls(tx, session, turn, left.main, closing.results, new_id)\n", "",
    ),
    Break(
        "a live reader is told under other numbers", "agentflow.live.event_feed",
        "first = last_seq - len(log) + 1", "first = last_seq - len(log) + (1 if len(log) < 4 else 2)",
    ),
    Break(
        "a turn that has called a model begins again", "agentflow.store.session.begin_again",
        'SELECT 1 FROM llm_call WHERE session_key = ? AND turn = ? LIMIT 1',
        'SELECT 1 FROM llm_call WHERE session_key = ? AND turn = ? AND false LIMIT 1',
    ),
    Break(
        "the history of another head is used", "agentflow.live.history_cache",
        "return entry if kept == (session_key, head, lean, reader) else None", "return entry",
    ),
    Break(
        "a request that is sent again runs again", "agentflow.store.jobs.claim",
        "if not session.created and (replayed", "if session.created and (replayed",
    ),
    Break(
        "every owner is alive for ever", "agentflow.live.owner",
        "return lease_until > instant() and _exists(int(pid), started)", "return True",
    ),
    Break(
        "an owner is never alive", "agentflow.live.owner",
        "return lease_until > instant() and _exists(int(pid), started)", "return False",
    ),
    Break(
        "a failed commit is acknowledged", "agentflow.store.sql.writer",
        "            self._fail(group, error)\n            return False\n        return True",
        "            return False\n        return True",
    ),
    Break(
        "a joined submit's turn id is forgotten", "agentflow.store.session.waiting",
        "if joined and request.turn_id_given", "if joined and not request.turn_id_given",
    ),
    Break(
        "usage of a turn forgets a call", "agentflow.turn.run.journal",
        "self.usage = claimed.usage", "self.usage = Usage()",
    ),
    Break(
        "a waiting turn is taken out and stays", "agentflow.store.session.waiting",
        'tx.execute("DELETE FROM queue_entry WHERE session_key = ? AND turn_id = ?", session.key, first.turn_id)',
        'tx.execute("SELECT ?, ?", session.key, first.turn_id)',
    ),
    Break(
        "the end of a paused turn leaves its question open", "agentflow.store.session.close_turn",
        'rows.MoveQuestion("stopped" if how.failure is None else "expired", execution, call_id, "pending")',
        'rows.MoveQuestion("pending", execution, call_id, "pending")',
    ),
)  # fmt: skip


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, broken: Break) -> None:
        self._broken = broken

    def find_spec(self, name: str, path: object, target: object = None) -> importlib.machinery.ModuleSpec | None:
        if name != self._broken.module:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)  # type: ignore[arg-type]
        if spec is None or spec.origin is None:
            return None
        spec.loader = _Loader(name, spec.origin, self._broken)
        return spec


class _Loader(importlib.machinery.SourceFileLoader):
    def __init__(self, name: str, path: str, broken: Break) -> None:
        super().__init__(name, path)
        self._broken = broken

    def get_code(self, fullname: str) -> CodeType:
        return compile(broken_text(self._broken, Path(self.path)), self.path, "exec")


def broken_text(broken: Break, path: Path) -> str:
    """The module's text with the break in it. Raises `LookupError` when the engine does not say that any more."""
    text = path.read_text(encoding="utf-8")
    if text.count(broken.old) != 1:
        raise LookupError(f"{broken.name}: {broken.module} does not say {broken.old!r} once")
    return text.replace(broken.old, broken.new)


def install(name: str) -> None:
    """Break the engine before it is imported."""
    broken = next(each for each in BREAKS if each.name == name)
    sys.meta_path.insert(0, _Finder(broken))


def prove(names: Sequence[str], steps: int) -> int:
    """Look for each break in lives that are whole without it; how many were not found."""
    wanted = [broken for broken in BREAKS if not names or broken.name in names]
    unbroken = _searched(["--seeds", f"1..{_LIVES}", "--steps", str(steps)])
    failing = {line.split()[1].rstrip(",") for line in unbroken if line.startswith("seed ")}
    whole = ",".join(str(seed) for seed in range(1, _LIVES + 1) if str(seed) not in failing)
    missed = 0
    for broken in wanted:
        begun = time.monotonic()
        said = _searched(["--seeds", whole, "--steps", str(steps), "--first", "--break", broken.name])
        found = next((line for line in said if line.startswith("seed ")), None)
        missed += found is None
        seconds = time.monotonic() - begun
        sys.stdout.write(f"{'found' if found else 'NOT FOUND'} in {seconds:.0f} s: {broken.name}\n")
        sys.stdout.write(f"    {(found or said[-1])[:200]}\n")
        sys.stdout.flush()
    sys.stdout.write(f"{len(wanted) - missed} of {len(wanted)} breaks found\n")
    return missed


def _searched(arguments: Sequence[str]) -> list[str]:
    command = [sys.executable, "-m", "tests.simulation", "--search", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return [*done.stdout.strip().splitlines(), *done.stderr.strip().splitlines()[-1:]]
