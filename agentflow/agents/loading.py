"""Agents made ready to run: configuration read, flows found, models opened, again only when a file changed (A7)."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from agentflow.agents.advisories import open_worker, unknown_prices
from agentflow.agents.loaded_agent import LoadedAgent, prompt_of
from agentflow.agents.parts import find_parts
from agentflow.config.agent_config import AgentConfig, Interface
from agentflow.config.document.problems import invalid
from agentflow.config.keys.base import plain
from agentflow.config.last_good import AgentFiles
from agentflow.config.material import material_files
from agentflow.config.places import AGENT_FILE, agent_names, own_agents
from agentflow.config.project import (
    NAME,
    find_named,
    is_file_in,
    sub_agent_reference,
)
from agentflow.errors import AgentflowError, AgentNotFound, InvalidConfig
from agentflow.models.open import open_model
from agentflow.models.protocol import Model
from agentflow.text import compact_json
from agentflow.tools.delegation import sub_agent_tools
from agentflow.tools.flows.library import Flow, FlowLibrary, make_flow
from agentflow.tools.materials import material_tools
from agentflow.tools.tool import ASK_USER_TOOL, MAX_RESULT_CHARS, WRITE_TODOS_TOOL

_log = logging.getLogger("agentflow.runtime")

OpenModel = Callable[[Interface, Path], Model | None]
"""`(interface, the agent's folder) -> model`, or null for the adapter that the model string asks for."""


class Agents:
    """Loads agents for a runtime. `scope` keeps apart what scripted models remember of sessions."""

    def __init__(
        self,
        files: AgentFiles,
        root: Path,
        flows: Sequence[Callable[..., Any]],
        open_model: OpenModel | None,
        scope: str,
    ) -> None:
        self.files = files
        self._read = files.get
        self._root = root
        self._library = FlowLibrary.of_project(root)
        self._flows = {flow.name: flow for flow in map(make_flow, flows)}
        self._open_model = open_model
        self._scope = scope
        self._lock = threading.Lock()
        self._models: dict[tuple[str, Path], Model] = {}
        self._by_path: dict[str, Path] = {}  # of the agents that were chosen
        self._loaded: dict[Path, tuple[object, LoadedAgent]] = {}  # with the version of the files it was made of

    def load(self, reference: str) -> LoadedAgent:
        """The agent of a name or path as its files are now; what clients and rows say is looked up by `named`.

        Files that have become unusable are reported, and the last agent that could be made of them is given (A7).
        Raises `AgentNotFound`, `InvalidConfig`.
        """
        with self._lock:  # the store's thread loads for turns that waited
            config = self._read(reference)
            try:
                loaded = self._current(config)
            except (AgentNotFound, InvalidConfig) as error:
                if config.path not in self._loaded:
                    raise
                keeps_last_good(error)
                _, loaded = self._loaded[config.path]
        return loaded

    def chosen(self, reference: str) -> LoadedAgent:
        """The agent of a name or path that the code around this runtime chose: from then on it may be named too.

        Raises `AgentNotFound`, `InvalidConfig`.
        """
        loaded = self.load(reference)
        self._by_path[loaded.config.name] = loaded.config.path
        return loaded

    def named(self, name: str) -> LoadedAgent:
        """The agent that a client names: of the project, shipped, or `chosen` before (Z2).

        Raises `AgentNotFound`, `InvalidConfig`.
        """
        try:
            return self.load(str(find_named(self._root, name)))
        except AgentNotFound:
            if name not in self._by_path:
                raise
        return self.load(str(self._by_path[name]))

    def of_session(self, name: str) -> LoadedAgent:
        """The agent that the row of a session names: also one in a folder of the project that is not under `agents/`,
        as a command line may have given it.

        Raises `AgentNotFound`, `InvalidConfig`.
        """
        try:
            return self.named(name)
        except AgentNotFound:
            beside = self._root / name / AGENT_FILE
            if not NAME.fullmatch(name) or not is_file_in(self._root, beside):
                raise
        return self.load(str(beside))

    def _current(self, config: AgentConfig) -> LoadedAgent:
        """The agent as it was made, or made again because a file changed."""
        children = [self._read(sub_agent_reference(config, name)) for name in config.sub_agents]
        version = (self._library.version(), *map(id, children), *map(_signature, material_files(config)))
        known, loaded = self._loaded.get(config.path, (None, None))
        if loaded is None or loaded.config is not config or known != version:
            loaded = self._make(config, children)
            self._loaded[config.path] = version, loaded
        return loaded

    def names(self) -> list[str]:
        """Of all agents that there are, those of the project and those that ship."""
        return agent_names(self._root)

    def own_names(self) -> list[str]:
        """Of the project's own agents."""
        return [folder.name for folder in own_agents(self._root)]

    def worker_tools(self, reference: str) -> dict[str, frozenset[str]]:
        """The tools whose calls are left to a worker, of an agent and all its sub-agents, by agent (C33)."""
        return {name: agent.worker_tools for name, agent in self._family(reference).items()}

    def flow(self, reference: str, folder: Path) -> Flow:
        """The flow of a name, or of FILE:NAME from a folder on, as the files are now. Raises `InvalidConfig`."""
        with self._lock:
            return self._flows.get(reference) or self._library.get(reference, base=folder)

    def result_chars(self, reference: str, name: str, tool: str) -> int:
        """How long the result of a client's tool may be, of an agent or one of its sub-agents, by its name; 0 = off."""
        agent = self._family(reference).get(name)
        if agent is None:  # its file has changed since
            return MAX_RESULT_CHARS
        known = agent.tools.get(tool)
        return agent.config.settings.tool_result_max_chars if known is None else known.max_result_chars

    def _family(self, reference: str) -> dict[str, LoadedAgent]:
        """An agent and all its sub-agents, by name."""
        found: dict[str, LoadedAgent] = {}
        waiting = [reference]
        while waiting:
            agent = self.load(waiting.pop())
            if agent.config.name not in found:
                found[agent.config.name] = agent
                waiting += agent.sub_agents.values()
        return found

    def name_of(self, reference: str) -> str:
        """The name of the agent of a name or path. Raises `AgentNotFound`, `InvalidConfig` for a path."""
        return reference if NAME.fullmatch(reference) else self._read(reference).name

    def _make(self, config: AgentConfig, children: Sequence[AgentConfig]) -> LoadedAgent:
        described = [(child.name, child.description) for child in children]
        parts = find_parts(
            config, self._library, lambda interface: self._model(interface, config), flows=self._flows,
            sub_agents=described,
        )  # fmt: skip
        if parts.problems:
            raise invalid(parts.problems)
        for problem in (*open_worker(config), *unknown_prices(config)):
            _log.warning("%s", problem)
        limit = config.settings.tool_result_max_chars
        own = (
            *((WRITE_TODOS_TOOL,) if config.planning is not None else ()),
            *material_tools(parts.material, limit),
            *sub_agent_tools([child.name for child in children], limit),
            ASK_USER_TOOL,
        )
        tools = {**parts.tools, **{tool.name: tool for tool in own}, **parts.client_tools}  # after our own (C37)
        sub_agents = {child.name: str(child.path) for child in children}
        return LoadedAgent(
            config, tools, parts.models, prompt_of(config, parts.material), parts.material, parts.hooks, sub_agents,
            parts.worker, lambda interface: self._model(interface, config),
        )  # fmt: skip

    async def close(self) -> None:
        """Let go of what the models keep open."""
        for model in self._models.values():
            await model.close()

    def _model(self, interface: Interface, config: AgentConfig) -> Model:
        """One adapter per interface and folder, so that connections and scripts are shared by turns."""
        key = (compact_json(plain(interface)), config.folder)
        if key not in self._models:
            own = self._open_model(interface, config.folder) if self._open_model is not None else None
            self._models[key] = own or open_model(interface, config.folder, self._scope)
        return self._models[key]


def keeps_last_good(error: AgentflowError) -> None:
    """Report a configuration that is not used because an earlier one was good (A7)."""
    _log.warning("the changed configuration is not used, the last good one stays in force: %s", error)


def _signature(path: Path) -> tuple[int, int] | None:
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_size
