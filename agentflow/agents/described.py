"""Agents as a form needs them: what they are, what a request gives them, what they can do."""

from __future__ import annotations

from typing import Any

from agentflow.agents.loaded_agent import LoadedAgent
from agentflow.config.keys.base import plain


def described(agent: LoadedAgent) -> dict[str, Any]:
    """`{name, description, inputs: {NAME: {type, required, default, description, enum}}, tools: [{name, description,
    handler}]}`.
    """
    config = agent.config
    return {
        "name": config.name,
        "description": config.description,
        "inputs": {name: plain(spec) for name, spec in config.inputs.items()},
        "tools": [
            {"name": tool.name, "description": tool.description, "handler": tool.handler}
            for tool in agent.tools.values()
        ],
    }
