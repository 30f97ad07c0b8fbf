"""The work that is measured: one turn is a user message, a tool call, its result and an answer, 3 KB of text."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentflow import Runtime
from agentflow.models.protocol import Model
from agentflow.models.scripted_model import ScriptedModel
from tests.benchmarks.texts import ANSWER, ARGUMENTS, RESULT

AGENT = "bench"
_AGENT_YAML = """\
version: 1
name: bench
model: scripted/bench.yaml
prompt: You look up invoices.
tools: [look_up]
"""
FLOW = f'''\
"""The one tool of the measured turn."""


async def look_up(number: int) -> str:
    """Look up an invoice."""
    return {RESULT!r}
'''
REPLIES: list[dict[str, Any]] = [
    {"when": {"purpose": "title"}, "text": "Invoices", "repeat": True},
    {"when": {"has_tool_result": True}, "text": ANSWER, "chunk_size": len(ANSWER), "repeat": True},
    {"tool_calls": [{"name": "look_up", "arguments": ARGUMENTS}], "repeat": True},
]


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much work each part does; the tests use tiny ones.

    `marks` are the turns of one session that are measured, each as the median of the `window` turns that end there.
    """

    marks: tuple[int, int, int] = (10, 200, 1000)
    window: int = 9
    sessions: int = 200
    turns_each: int = 5
    deltas: int = 20_000
    messages: int = 10_000
    branches: int = 50
    repeats: int = 5


def make_project(folder: Path) -> Path:
    """A project with the one agent, its flow and its script."""
    project = folder / "project"
    agent, workflows = project / "agents" / AGENT, project / "workflows"
    for made in (agent, workflows):
        made.mkdir(parents=True, exist_ok=True)
    (agent / "agent.yaml").write_text(_AGENT_YAML, "utf-8")
    (agent / "bench.yaml").write_text(f"replies: {json.dumps(REPLIES)}\n", "utf-8")
    (workflows / "invoices.py").write_text(FLOW, "utf-8")
    return project


def scripted(*_: object) -> Model:
    """The zero-latency model of every measured turn."""
    return ScriptedModel(REPLIES)


def open_runtime(
    folder: Path,
    *,
    model: Callable[..., Model] = scripted,
    on_commit: Callable[[int], None] | None = None,
    db: str | None = None,
) -> Runtime:
    """The engine on a file of its own, durable as it is by default, or on the database `db`."""
    return Runtime.open(make_project(folder), db=db or str(folder / "ours.db"), open_model=model, on_commit=on_commit)


def median(numbers: list[float]) -> float:
    return sorted(numbers)[len(numbers) // 2]


def at_mark(times: Sequence[float], mark: int, sizes: Sizes) -> float:
    """The median of the turns that end at a mark."""
    return median(list(times[max(mark - sizes.window, 0) : mark]))


def percentile(numbers: list[float], share: float) -> float:
    return sorted(numbers)[min(int(len(numbers) * share), len(numbers) - 1)]
