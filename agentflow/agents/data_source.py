"""Where flows of this process have an entity's data from (R8, R9)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from agentflow.tools.flows.library import Flow
from agentflow.tools.results import ToolResult, refused, success

Captured = Mapping[tuple[str, str], Any]
"""Data by entity and key."""

FindFlow = Callable[[str, Path], Flow]
"""`(name, folder) -> flow`. Raises `InvalidConfig`."""

AnswerTool = Callable[[str, Mapping[str, Any]], Mapping[str, Any] | None]
"""`(name, arguments) -> {"result": value}` or `{"error": text}`, which a call has in place of its flow; null: the flow
is run.
"""

EVALUATION = "evaluation"


class StandIn(Protocol):
    """What acts in an evaluation in place of tools and workers, so that nothing happens in the world (R9)."""

    def result(self, tool: str, arguments: Mapping[str, Any]) -> ToolResult | None:
        """The result of a call, as the model reads it; null for a tool that is to run. Contract: raises nothing."""
        ...

    def asks_worker(self, agent: str) -> bool:
        """Whether the worker of this agent may be asked."""
        ...


@dataclass(frozen=True, slots=True)
class DataSource:
    """`find_flow(name, folder)` gives a loader by its name. In the environment `evaluation` nothing is loaded:
    `captured` has the data, and `stand_in`, where there is one, acts in place of tools and workers. In any environment
    `answer_tool` may answer calls in place of their flows, between their hooks.
    """

    environment: str
    find_flow: FindFlow
    captured: Captured
    stand_in: StandIn | None = None
    answer_tool: AnswerTool | None = None

    @classmethod
    def of(
        cls,
        environment: str,
        find_flow: FindFlow,
        captured: Captured | None,
        stand_in: StandIn | None = None,
        answer_tool: AnswerTool | None = None,
    ) -> DataSource:
        """That of a process: given captured data or a stand-in, whatever it has, makes the environment `evaluation`."""
        if captured is None and stand_in is None:
            return cls(environment, find_flow, {}, None, answer_tool)
        return cls(EVALUATION, find_flow, {} if captured is None else captured, stand_in, answer_tool)

    def answered(self, tool: str, arguments: Mapping[str, Any]) -> ToolResult | None:
        """The result of a call that is answered in place of its flow, null for one whose flow is run."""
        given = None if self.answer_tool is None else self.answer_tool(tool, arguments)
        if given is None:
            return None
        return refused(given["error"], "tool_failed") if "error" in given else success(given.get("result"))
