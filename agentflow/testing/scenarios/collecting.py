"""`*.test.yaml` as tests of pytest."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from agentflow import read_scenario
from agentflow.testing.scenarios.running import run_scenario


class Failed(Exception):
    """A test without Python has not come to what it expects; the message is all there is to say."""


class ScenarioModule(pytest.File):
    """One file, which is one test."""

    def collect(self) -> Iterator[pytest.Item]:
        yield ScenarioItem.from_parent(self, name=self.path.name.removesuffix(".test.yaml"))


class ScenarioItem(pytest.Item):
    """The conversation of a file."""

    def runtest(self) -> None:
        outcome = run_scenario(read_scenario(self.path))
        if outcome.failures:
            trace = ["", outcome.trace] if outcome.trace else []
            raise Failed("\n".join([*outcome.failures, *trace]))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Sentences with their places instead of our own lines."""
        from agentflow import AgentflowError

        if isinstance(excinfo.value, Failed | AgentflowError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Any, int | None, str]:
        return self.path, None, self.name
