"""Configurations for a process that runs for long: always by the files as they are now (A7)."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Generic, TypeVar

from agentflow.config.agent_config import AgentConfig
from agentflow.config.places import PROJECT_FILE
from agentflow.config.project import Project, agent_files, find_agent, find_named, open_project
from agentflow.errors import AgentNotFound, InvalidConfig

Value = TypeVar("Value")
Report = Callable[[InvalidConfig], None]


class AgentFiles:
    """The agents of one project.

    A look costs one `stat` of each file. When a changed file is invalid, the last good one stays in force and
    `report` is called once with the reason; what never was good raises it.
    """

    def __init__(self, root: Path, *, report: Report, variables: Mapping[str, str] | None = None) -> None:
        self._root = root.resolve()
        self._report = report
        self._variables = os.environ if variables is None else variables
        self._project_file = self._root / PROJECT_FILE
        self._project: _LastGood[Project] = _LastGood()
        self._agents: dict[Path, _LastGood[AgentConfig]] = {}
        self._found: dict[str, Path] = {}

    @property
    def project(self) -> Project:
        """The project as its agentflow.yaml is now. Raises `InvalidConfig` when that never was good."""
        return self._project.refreshed(
            _signature(self._project_file),
            lambda: open_project(self._root, variables=self._variables),
            self._report,
        )

    def get(self, agent: str) -> AgentConfig:
        """The configuration of the agent of this name or path, the same object until a file changes.

        Raises `AgentNotFound`, `InvalidConfig`.
        """
        path, project = self._find(agent), self.project
        return self._agents.setdefault(path, _LastGood()).refreshed(
            (_signature(path), project), lambda: project.load(path, self._variables), self._report
        )

    def named(self, name: str) -> AgentConfig | None:
        """The configuration of the agent of this name; null when there is none that can be read."""
        try:
            return self.get(str(find_named(self._root, name)))
        except (AgentNotFound, InvalidConfig):
            return None

    def retention_days(self, name: str) -> int | None:
        """For how many days unused sessions of the agent of this name are kept, as the files say now, 0 for ever; null
        when there is no such agent that can be read.
        """
        agent = self.named(name)
        if agent is None:
            return None
        days = agent.settings.retention_days
        return self.project.keys.retention_days if days is None else days

    def _find(self, agent: str) -> Path:
        """Only the place that is looked at first is remembered: before any other one a better file may appear."""
        known = self._found.get(agent)
        if known is not None and os.path.isfile(known):
            return known
        path = find_agent(self._root, agent)
        if path == next(agent_files(self._root, agent)):
            self._found[agent] = path
        return path


class _LastGood(Generic[Value]):
    """A value made from files, made again when their signature changes, kept when that fails."""

    def __init__(self) -> None:
        self._signature: Any = None
        self._values: list[Value] = []

    def refreshed(self, signature: Any, make: Callable[[], Value], report: Report) -> Value:
        if not self._values:
            self._values = [make()]
        elif signature != self._signature:
            try:
                self._values = [make()]
            except InvalidConfig as error:
                report(error)
        self._signature = signature
        return self._values[0]


def _signature(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
