"""Actions of a worker and what they stand for: the engine's plans as actions, and actions as results (C33)."""

from __future__ import annotations

from dataclasses import replace

from agentflow.message import ToolCall
from agentflow.text import compact_json
from agentflow.tools.results import ToolResult, refused, success
from agentflow.turn.rules.decisions import Fail, NextMove, RunTools
from agentflow.turn.worker.making_room import REPLACE
from agentflow.turn.worker.protocol import Action, Response, call_action

RESULTS = ("tool.result", "tool.error")
CALLS = ("tool.call", "ask_user")


def replaces(response: Response) -> bool:
    return any(action["type"] == REPLACE for action in response.actions)


def proposed_by(plan: NextMove) -> list[Action]:
    if not isinstance(plan, RunTools):
        return [{"type": "fail", "error": plan.error.message} if isinstance(plan, Fail) else {"type": "done"}]
    calls = [*plan.ordinary, *filter(None, (plan.ender, plan.ask))]
    return [
        *map(call_action, calls),
        *({"type": "tool.error", "id": call.id, "error": why} for call, why in plan.refused),
    ]


def with_input(call: ToolCall, action: Action) -> ToolCall:
    return call if action.get("input") is None else replace(call, arguments=compact_json(action["input"]))


def result_of(action: Action) -> ToolResult:
    return (
        success(action.get("result"))
        if action["type"] == "tool.result"
        else refused(str(action["error"]), "tool_failed")
    )
