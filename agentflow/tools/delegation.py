"""`task` and `delegate` as the model sees them; the turn performs them (T34)."""

from __future__ import annotations

from collections.abc import Sequence

from agentflow.tools.flows import reserved
from agentflow.tools.tool import Tool

_TASK = (
    "Let a sub-agent do a piece of work and report back to you. It knows nothing of this conversation: put everything "
    "it needs into the prompt. Several tasks in one reply run side by side."
)
_DELEGATE = (
    "Hand this conversation over to a sub-agent that is better suited: it gets the user's message and your note, its "
    "answer goes to the user and ends your turn."
)


def sub_agent_tools(names: Sequence[str], max_result_chars: int) -> list[Tool]:
    """The tools of an agent that has sub-agents; none without."""
    if not names:
        return []
    task = _tool(reserved.TASK, _TASK, names, "prompt", "The whole work order.", max_result_chars, ends_turn=False)
    note = "What the sub-agent should know besides the user's message."
    return [task, _tool(reserved.DELEGATE, _DELEGATE, names, "message", note, max_result_chars, ends_turn=True)]


def _tool(
    name: str, description: str, names: Sequence[str], text: str, about: str, max_result_chars: int, *, ends_turn: bool
) -> Tool:
    parameters = {
        "type": "object",
        "additionalProperties": False,
        "required": ["agent", text],
        "properties": {
            "agent": {"type": "string", "enum": list(names), "description": "The sub-agent."},
            text: {"type": "string", "minLength": 1, "description": about},
        },
    }
    return Tool(name, description, parameters, None, 0, max_result_chars, ends_turn)
