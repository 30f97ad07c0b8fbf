"""Agents as a form needs them: what they are, what a request gives them, what they can do."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

from agentflow.agents.loaded_agent import LoadedAgent
from agentflow.agents.loading import Agents
from agentflow.config.keys.base import plain
from agentflow.conversation import arguments
from agentflow.errors import AgentNotFound, InvalidConfig
from agentflow.models.protocol import Loading


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

    async def load_models(self) -> None:
        """Load what the models of the project's agents need before they can be called, so that no first turn waits
        for it; agents that cannot run are left out. Raises `ModelError`.
        """
        for model in await asyncio.to_thread(self._models):
            if not model.is_loaded():
                await model.load()

    async def complaint(self) -> str | None:
        """One line about the agents of the project that cannot run, null when each of them can."""
        return await asyncio.to_thread(self._complaint)

    def _models(self) -> list[Loading]:
        models: list[Loading] = []
        for name in self._agents.own_names():
            with contextlib.suppress(AgentNotFound, InvalidConfig):
                models += [each for each in self._agents.named(name).models.values() if isinstance(each, Loading)]
        return models

    def _complaint(self) -> str | None:
        broken: dict[str, str] = {}
        for name in self._agents.own_names():
            try:
                self._agents.named(name)
            except (AgentNotFound, InvalidConfig) as error:
                broken[name] = error.message.splitlines()[0]
        if not broken:
            return None
        name, why = next(iter(broken.items()))
        others = f"; {len(broken) - 1} more cannot run either" if len(broken) > 1 else ""
        return f"agent {name!r} cannot run: {why}{others}; `agentflow validate` shows all mistakes"

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
