"""Agents as a form needs them: what they are, what a request gives them, what they can do."""

from __future__ import annotations

import asyncio
from typing import Any

from agentflow.agents.loaded_agent import LoadedAgent
from agentflow.agents.loading import Agents
from agentflow.config.keys.base import plain
from agentflow.conversation import arguments
from agentflow.errors import AgentNotFound, InvalidConfig


class Catalog:
    """The agents that clients may name; reached as `runtime.catalog`."""

    def __init__(self, agents: Agents) -> None:
        self._agents = agents

    async def agents(self) -> list[dict[str, Any]]:
        """Those of the project and those that ship, by name, as `agent` gives them; one that cannot run has its name
        and the `error`.
        """
        return await asyncio.to_thread(self._all)

    async def agent(self, name: str) -> dict[str, Any]:
        """An agent as a form needs it: `{name, description, inputs: {NAME: {type, required, default, description,
        enum}}, tools: [{name, description, handler}]}`. Raises `AgentNotFound`, `InvalidConfig`.
        """
        return described(await asyncio.to_thread(self._agents.named, arguments.text(name, "agent")))

    def _all(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        for name in self._agents.names():
            try:
                found.append(described(self._agents.named(name)))
            except (AgentNotFound, InvalidConfig) as error:
                found.append({"name": name, "error": error.message})
        return found


def described(agent: LoadedAgent) -> dict[str, Any]:
    """As `Catalog.agent` tells of it."""
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
