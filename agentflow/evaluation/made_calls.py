"""The calls that an agent made in a turn, and whether two say the same. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agentflow import clock
from agentflow.conversation.state import same_json
from agentflow.models.recording.request import steady
from agentflow.text import compact_json, preview
from agentflow.tools.arguments import checked_arguments
from agentflow.tools.flows.reserved import BUILTIN_NAMES

_SHOWN = 500


@dataclass(frozen=True, slots=True)
class MadeCall:
    """A call of a tool; `arguments` are null where they are no JSON object."""

    name: str
    arguments: dict[str, Any] | None

    def __str__(self) -> str:
        return called(self.name, self.arguments)


def called(name: str, arguments: Mapping[str, Any] | None) -> str:
    """A call as a person reads it."""
    return name if arguments is None else f"{name} {preview(compact_json(dict(arguments)), _SHOWN)}"


def made_calls(trace: Mapping[str, Any]) -> tuple[MadeCall, ...] | None:
    """The calls of the main agent in the trace of a turn, but for those of the tools that every agent has, and for
    those that nobody was given: of a tool that there is not, or with arguments that do not fit. Null where the turn's
    end has erased them (R5).
    """
    if not trace["executions"]:
        return None
    nodes = [node for step in trace["steps"] for node in step["nodes"]]
    calls = [call for node in nodes for call in (node["tools"] if node["kind"] == "model_call" else [node])]
    return tuple(
        MadeCall(call["name"], checked_arguments(call["arguments"] or ""))
        for call in calls
        if call["kind"] == "tool_call" and call["started_at"] is not None and call["name"] not in BUILTIN_NAMES
    )


def same_arguments(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two calls say the same, but for ids, times and secrets."""
    today = clock.now().date()
    return same_json(steady(dict(one), today), steady(dict(other), today))
