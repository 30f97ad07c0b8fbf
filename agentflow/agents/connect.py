"""Whether the interfaces of an agent answer: one small request to each, as a turn would make it (A4)."""

from __future__ import annotations

import asyncio
import os
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path

from agentflow.agents.parts import used_interfaces
from agentflow.config.agent_config import AgentConfig, Interface
from agentflow.config.document.problems import Path as KeyPath
from agentflow.config.keys.references import SCRIPTED
from agentflow.config.project import Project, find_agent, find_home, open_project, sub_agent_reference
from agentflow.errors import AgentflowError, ModelError
from agentflow.models.errors import call_limit, too_slow
from agentflow.models.open import open_model
from agentflow.models.protocol import Loading, Model, ModelRequest

_QUESTION = "Say ok."
_ANSWERED = ("output_limit", "content_filter")
"""Failures of a model that has read the request and answered it."""


@dataclass(frozen=True, slots=True)
class Connection:
    """What came of asking one interface.

    `where` is `path:line:col` of its model string. `code` and `message` say why it did not answer, null when it did;
    `scripted` models are not asked.
    """

    interface: str
    model: str
    where: str
    scripted: bool = False
    code: str | None = None
    message: str | None = None


async def connect_agent(agent: str | Path, project: str | Path = ".") -> tuple[Connection, ...]:
    """Ask each interface of an agent, given by name or path, for a word, side by side, within its time limit.

    Sub-agents that lie in no `agents/` of the project are asked too: nobody else names them.
    What an interface says first is enough: then its connection is closed. Raises `AgentNotFound`, `InvalidConfig`.
    """
    path, home = find_home(project, agent)
    configs = _with_hidden(open_project(home), home, path)
    asked = (_connection(config, *used) for config in configs for used in used_interfaces(config))
    return tuple(await asyncio.gather(*asked))


def _with_hidden(project: Project, home: Path, path: Path) -> list[AgentConfig]:
    """The agent, and each sub-agent of its own or of theirs that only a path leads to."""
    found = {path.resolve(): project.load(path, os.environ)}
    waiting = list(found)
    while waiting:
        config = found[waiting.pop(0)]
        for name in config.sub_agents:
            child = find_agent(home, sub_agent_reference(config, name)).resolve()
            if child not in found and child.parent.parent != home.resolve() / "agents":
                found[child] = project.load(child, os.environ)
                waiting.append(child)
    return list(found.values())


async def _connection(config: AgentConfig, name: str, interface: Interface, key: KeyPath) -> Connection:
    where = config.position(*key)
    if interface.model.startswith(SCRIPTED):
        return Connection(name, interface.model, where, scripted=True)
    try:
        model = open_model(interface, config.folder, scope="")
        try:
            await _first_word(model, *call_limit(interface.timeout_secs, config.settings.llm_timeout_secs))
        finally:
            await model.close()
    except AgentflowError as error:
        if not (isinstance(error, ModelError) and error.kind in _ANSWERED):
            return Connection(name, interface.model, where, code=error.code, message=error.message)
    return Connection(name, interface.model, where)


async def _first_word(model: Model, seconds: float, key: str) -> None:
    if isinstance(model, Loading):
        await model.load()
    request = ModelRequest("connect", "main", [{"role": "user", "content": _QUESTION}], chars=len(_QUESTION))
    try:
        async with asyncio.timeout(seconds or None), aclosing(model.stream(request)) as deltas:
            await anext(deltas, None)
    except TimeoutError:
        raise too_slow(seconds, key) from None
