"""What agentflow needs of a project: files without mistakes, keys of providers, models that answer."""

from __future__ import annotations

import shlex
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

from agentflow.agents.connect import connect_agent
from agentflow.agents.validate import validate_agent
from agentflow.config.document.codes import Code
from agentflow.config.places import own_agents
from agentflow.errors import AgentflowError
from agentflow.health.check import Check


def project_checks(root: Path) -> Iterator[Check]:
    """The agents of a project and the keys they need; nothing is imported and nobody is called."""
    agents = own_agents(root)
    if not agents:
        yield Check("agents", "warning", f"{root} has no agents", "agentflow init writes a project to start from")
        return
    errors: dict[str, int] = {}
    keys: dict[str, str] = {}
    for agent in agents:
        found = validate_agent(agent, root, static=True).as_data
        errors |= {agent.name: len(found["errors"])} if found["errors"] else {}
        keys |= {each["message"]: agent.name for each in found["warnings"] if each["code"] == Code.NO_API_KEY}
    yield _agents(agents, errors)
    yield from (_key(message, agent) for message, agent in keys.items())
    if not keys:
        yield Check("keys", "ok", "every provider that is named has one, or needs none")


async def model_checks(root: Path) -> AsyncIterator[Check]:
    """Whether the models of a project's agents answer: one small request to each."""
    for agent in own_agents(root):
        try:
            asked = await connect_agent(agent, root)
        except AgentflowError as error:
            yield Check("models", "skipped", f"{agent.name}: {error.message.splitlines()[0]}")
            continue
        for each in asked:
            yield _model(agent.name, each)


def _agents(agents: list[Path], errors: dict[str, int]) -> Check:
    if not errors:
        return Check("agents", "ok", f"{len(agents)} without a mistake")
    told = ", ".join(f"{name} ({count})" for name, count in errors.items())
    names = " ".join(shlex.quote(name) for name in errors)
    return Check("agents", "failed", f"mistakes in {told}", f"agentflow validate {names} shows them")


def _key(message: str, agent: str) -> Check:
    """The complaint says what to set: `no key for PROVIDER: set NAME, or ...`."""
    said, _, fix = message.partition(": ")
    return Check("keys", "failed", f"{said}, which {agent} needs", fix)


def _model(agent: str, asked: Any) -> Check:
    name = f"{agent}'s {asked.interface}"
    if asked.scripted:
        return Check("models", "skipped", f"{name}: {asked.model} is scripted")
    if asked.code is None:
        return Check("models", "ok", f"{name}: {asked.model} answers")
    fix = f"see {asked.where}, then agentflow validate {shlex.quote(agent)} --connect"
    return Check("models", "failed", f"{name}: {asked.message}", fix)
