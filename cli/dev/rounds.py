"""One round after each save: check whom it concerns, say what it does to recent sessions, run the tests it touches."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..authoring.reports import Report, write
from ..authoring.validate import report_of
from ..engine import reading
from ..terminal.output import Output, note
from ..terminal.plain import one_line
from .effect import effect
from .files import texts, watched
from .touched import touched_agents, touched_tests

if TYPE_CHECKING:
    from agentflow import Runtime

RECENT = 5  # sessions whose next request is compared


def run_tests(root: Path, names: Sequence[str]) -> None:
    """pytest in a process of its own, whose output goes where ours for people does."""
    subprocess.run([sys.executable, "-m", "pytest", "-q", *names], cwd=root, check=False)


class Rounds:
    """Of one project; the first round is about everything."""

    def __init__(
        self, output: Output, root: Path, db: str | None, test: Callable[[Path, Sequence[str]], None] = run_tests
    ) -> None:
        self._output = output
        self._root = root
        self._db = db
        self._test = test
        self._requests: Mapping[str, Mapping[str, Any]] = {}

    def first(self) -> None:
        """Check every agent, and keep what the sessions' requests are now."""
        agents = sorted(path.parent.name for path in self._root.glob("agents/*/agent.yaml"))
        if self._check(agents):
            self._requests = self._asked()

    def after(self, changed: frozenset[Path]) -> None:
        """What follows of the files that were saved."""
        note("")
        note("changed: " + ", ".join(sorted(one_line(str(path.relative_to(self._root))) for path in changed)))
        found = texts(watched(self._root))
        agents = touched_agents(changed, found, self._root)
        if not self._check(agents):
            note("tests are run again when nothing is wrong any more")
            return
        if agents:
            self._tell_effects()
        if tests := touched_tests(changed, agents, found, self._root):
            names = [str(path.relative_to(self._root)) for path in tests]
            note(f"pytest {' '.join(names)}")
            self._test(self._root, names)

    def _check(self, agents: Sequence[str]) -> bool:
        """Whether all of them are without errors; what was found is told."""
        reports: list[Report] = [report_of(agent, self._root) for agent in agents]
        write(self._output, reports, "text")
        wrong = [each.agent for each in reports if each.has_errors]
        if agents:
            note(f"{len(agents)} checked, {len(wrong)} with errors")
        return not wrong

    def _tell_effects(self) -> None:
        before, self._requests = self._requests, self._asked()
        told = 0
        for session, request in self._requests.items():
            done = effect(before[session], request) if session in before else None
            if done is not None:
                told += 1
                self._output.line(one_line(f"session {session} ({request['agent_id']}): {done}"))
        if before and not told:
            note(f"the next requests of {len(before)} recent sessions stay as they are")

    def _asked(self) -> dict[str, Mapping[str, Any]]:
        """The exact next requests of the newest sessions, of those that can be made without further inputs."""
        return reading(self._root, self._db, _next_requests)


async def _next_requests(runtime: Runtime) -> dict[str, Mapping[str, Any]]:
    from agentflow import AgentflowError

    found: dict[str, Mapping[str, Any]] = {}
    for session in await runtime.sessions(limit=RECENT):
        try:
            found[session["session_id"]] = await runtime.explain(session["agent_id"], session["session_id"])
        except AgentflowError as error:
            note(one_line(f"session {session['session_id']} is not compared: {error.message}"))
    return found
