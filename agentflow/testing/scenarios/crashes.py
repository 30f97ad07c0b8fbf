"""The same once more for every commit, with a process that dies right after it."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from agentflow import ScenarioFile
from agentflow.testing.kit import Kit, ProcessKilled
from agentflow.testing.opening import opened
from agentflow.testing.scenarios.running import Crash, End, Outcome, run_scenario

_FIXTURE = "agentflow"


@dataclass(frozen=True, slots=True)
class Crashed:
    """A run that died after so many commits of a step (both from 1, `of` that step's commits): `otherwise` is null, or
    how it ended instead; `again` are the calls that were begun more often than without a crash.
    """

    step: int
    commit: int
    of: int
    otherwise: str | None
    again: tuple[str, ...]


def crashed_everywhere(file: ScenarioFile, usual: Outcome) -> Iterator[Crashed]:
    """One run for each commit of a test that passes; `usual` is its run without a crash."""
    for index, commits in enumerate(usual.commits):
        if file.scenario.steps[index].crash_after is not None:
            continue
        for commit in range(1, commits + 1):
            outcome = run_scenario(file, Crash(index, commit))
            again = tuple(sorted((outcome.end.calls - usual.end.calls).elements()))
            yield Crashed(index + 1, commit, commits, _otherwise(usual.end, outcome), again)


def _otherwise(usual: End, outcome: Outcome) -> str | None:
    if outcome.failures:
        return "; ".join(outcome.failures)
    there = {session: (status, last) for session, status, last in usual.sessions}
    wrong = [
        f"session {session}: {status}, {last}"
        for session, status, last in outcome.end.sessions
        if there[session] != (status, last)
    ]
    return "; ".join(wrong) or None


def at_every_crash(then: Callable[[Kit], None]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run a test that takes `agentflow` once as it is, and once for every commit it makes with a process that dies
    right after it. `then(kit)` makes the claims that must hold each time, in the process that comes after.

    Each run has a kit of its own, on SQLite.
    """

    def decorated(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def run(*given: Any, **named: Any) -> None:
            commits = _run(test, then, 0, *given, **named)
            for number in range(1, commits + 1):
                try:
                    _run(test, then, number, *given, **named)
                except BaseException as error:
                    error.add_note(f"The process had died right after commit {number} of {commits}.")
                    raise

        signature = inspect.signature(test)
        kept = [each for each in signature.parameters.values() if each.name != _FIXTURE]
        run.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]  # what pytest reads
        return run

    return decorated


def _run(test: Callable[..., None], then: Callable[[Kit], None], dies: int, *given: Any, **named: Any) -> int:
    """One run; how many commits it made."""
    with TemporaryDirectory(prefix="agentflow-test-") as folder, opened(Path(folder)) as kit:
        kit.kill_after(dies)
        try:
            test(*given, **{**named, _FIXTURE: kit})
        except ProcessKilled:
            kit.reopen()
        commits = kit.all_commits
        then(kit)
        if not dies and (wrong := [*kit.leftovers(), *map(str, kit.stalls.stalls)]):
            raise AssertionError("; ".join(wrong))
        return commits
