"""Agents made ready to run: configuration read, flows found, models opened, again only when a file changed (A7)."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from agentflow.agents.loaded_agent import LoadedAgent, prompt_of, summary_interface
from agentflow.agents.worker import OPEN_TO_READING, HttpWorker, PythonWorker, Worker, imported, is_open_to_reading
from agentflow.config.agent_config import AgentConfig, Interface
from agentflow.config.keys.agent import HookEntry
from agentflow.config.keys.base import plain
from agentflow.config.keys.references import MAIN
from agentflow.config.material import material_files, read_material
from agentflow.config.project import AGENTS, NAME, PROJECT_FILE, Project, sub_agent_reference
from agentflow.errors import AgentflowError, AgentNotFound, InvalidConfig
from agentflow.models.open import open_model
from agentflow.models.protocol import Model
from agentflow.text import compact_json
from agentflow.tools.delegation import sub_agent_tools
from agentflow.tools.flows.library import Flow, FlowLibrary, make_flow
from agentflow.tools.flows.reserved import BUILTIN_NAMES
from agentflow.tools.hook_calls import Hook, hook_complaint
from agentflow.tools.materials import material_tools
from agentflow.tools.tool import ASK_USER_TOOL, MAX_RESULT_CHARS, WRITE_TODOS_TOOL, Tool, client_tool, tool_of

_log = logging.getLogger("agentflow.runtime")

T = TypeVar("T")

OpenModel = Callable[[Interface, Path], Model | None]
"""`(interface, the agent's folder) -> model`, or null for the adapter that the model string asks for."""


class Agents:
    """Loads agents for a runtime. `scope` keeps apart what scripted models remember of sessions."""

    def __init__(
        self,
        read: Callable[[str], AgentConfig],
        root: Path,
        flows: Sequence[Callable[..., Any]],
        open_model: OpenModel | None,
        scope: str,
    ) -> None:
        self._read = read
        self._library = FlowLibrary.of_project(root)
        self._flows = {flow.name: flow for flow in map(make_flow, flows)}
        self._open_model = open_model
        self._scope = scope
        self._lock = threading.Lock()
        self._models: dict[tuple[str, Path], Model] = {}
        self._loaded: dict[Path, tuple[object, LoadedAgent]] = {}  # with the version of the files it was made of

    def load(self, reference: str) -> LoadedAgent:
        """The agent of a name or path as its files are now.

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

    def _current(self, config: AgentConfig) -> LoadedAgent:
        """The agent as it was made, or made again because a file changed."""
        children = [self._read(sub_agent_reference(config, name)) for name in config.sub_agents]
        version = (self._library.version(), *map(id, children), *map(_signature, material_files(config)))
        known, loaded = self._loaded.get(config.path, (None, None))
        if loaded is None or loaded.config is not config or known != version:
            loaded = self._make(config, self._flows_of(config), children)
            self._loaded[config.path] = version, loaded
        return loaded

    def worker_tools(self, reference: str) -> dict[str, frozenset[str]]:
        """The tools whose calls are left to a worker, of an agent and all its sub-agents, by agent (C33)."""
        return {name: agent.worker_tools for name, agent in self._family(reference).items()}

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
        return reference if NAME.match(reference) else self._read(reference).name

    def _flows_of(self, config: AgentConfig) -> list[Flow | None]:
        """The flow of each entry, null for a tool of the client."""
        return [
            None if entry.flow is None else self._flow(config, ("tools", index), entry.flow)
            for index, entry in enumerate(config.tools)
        ]

    def _flow(self, config: AgentConfig, key: tuple[str | int, ...], reference: str) -> Flow:
        try:
            return self._flows.get(reference) or self._library.get(reference, base=config.folder)
        except InvalidConfig as error:
            raise config.invalid(key, error.message) from error

    def _make(self, config: AgentConfig, flows: Sequence[Flow | None], children: Sequence[AgentConfig]) -> LoadedAgent:
        material = read_material(config, [(child.name, child.description) for child in children])
        limit = config.settings.tool_result_max_chars
        tools: dict[str, Tool] = {}
        for index, (entry, flow) in enumerate(zip(config.tools, flows, strict=True)):
            if entry.name in BUILTIN_NAMES:
                raise config.invalid(("tools", index), f"'{entry.name}' is the name of a built-in tool; choose another")
            if flow is None:
                continue
            tools[entry.name] = tool_of(
                flow,
                name=entry.name,
                timeout_secs=_given(entry.timeout_secs, config.settings.tool_timeout_secs),
                max_result_chars=_given(entry.max_result_chars, config.settings.tool_result_max_chars),
                ends_turn=entry.ends_turn,
                handler=entry.handler,
            )
        if config.planning is not None:
            tools[WRITE_TODOS_TOOL.name] = WRITE_TODOS_TOOL
        for tool in (
            *material_tools(material, limit),
            *sub_agent_tools([child.name for child in children], limit),
            ASK_USER_TOOL,
        ):
            tools[tool.name] = tool
        for entry in config.tools:
            if entry.flow is None:  # after the agent's own (C37)
                chars = _given(entry.max_result_chars, limit)
                tools[entry.name] = client_tool(entry.name, entry.description, plain(entry.parameters), chars)
        models = {name: self._model(interface, config) for name, interface in config.interfaces.items()}
        for strategy in config.context.strategy:
            if strategy.model is not None:
                written = config.interfaces[strategy.llm or MAIN].model_copy(update={"model": strategy.model})
                models[summary_interface(strategy.llm, strategy.model)] = self._model(written, config)
        sub_agents = {child.name: str(child.path) for child in children}
        return LoadedAgent(
            config, tools, models, prompt_of(config, material), material, self._hooks(config), sub_agents,
            self._worker(config), lambda interface: self._model(interface, config),
        )  # fmt: skip

    def _worker(self, config: AgentConfig) -> Worker | None:
        reference = config.worker
        if reference is None:
            return None
        if reference.startswith(("http://", "https://")):
            if is_open_to_reading(reference, config.worker_secret):
                _log.warning("%s", config.problem(("worker",), OPEN_TO_READING))
            return HttpWorker(reference, config.worker_secret)
        try:
            return PythonWorker(reference, self._library.get(reference, base=config.folder).function)
        except InvalidConfig as error:
            function = imported(reference)
            if function is None:
                raise config.invalid(("worker",), error.message) from error
            return PythonWorker(reference, function)

    async def close(self) -> None:
        """Let go of what the models keep open."""
        for model in self._models.values():
            await model.close()

    def _hooks(self, config: AgentConfig) -> dict[str, tuple[Hook, ...]]:
        """The hooks of each point that has any, in the order listed."""
        hooks: dict[str, tuple[Hook, ...]] = {}
        for point in type(config.hooks).model_fields:
            entries: Sequence[HookEntry] = getattr(config.hooks, point)
            if entries:
                hooks[point] = tuple(self._hook(config, point, index, entry) for index, entry in enumerate(entries))
        return hooks

    def _hook(self, config: AgentConfig, point: str, index: int, entry: HookEntry) -> Hook:
        key = ("hooks", point, index)
        flow = self._flow(config, key, entry.flow)
        if (complaint := hook_complaint(flow, point)) is not None:
            raise config.invalid(key, complaint)
        return Hook(flow, entry.timeout_secs, entry.on_error == "ignore")

    def _model(self, interface: Interface, config: AgentConfig) -> Model:
        """One adapter per interface and folder, so that connections and scripts are shared by turns."""
        timeout = _given(interface.timeout_secs, config.settings.llm_timeout_secs)
        key = (compact_json([plain(interface), timeout]), config.folder)
        if key not in self._models:
            own = self._open_model(interface, config.folder) if self._open_model is not None else None
            self._models[key] = own or open_model(interface, config.folder, timeout, self._scope)
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


def _given(value: T | None, otherwise: T) -> T:
    return otherwise if value is None else value


def database_url(root: Path, project: Project, given: str | None) -> str:
    """Where a project's sessions are: what was given, `$AGENTFLOW_DB`, agentflow.yaml, or a SQLite file.

    A project keeps the file in its folder; any other folder uses the one of the user.
    """
    wanted = given or os.environ.get("AGENTFLOW_DB") or project.db
    if wanted is None:
        wanted = str((root if _is_project(root) else _user_folder()) / "agentflow.db")
    return wanted if "://" in wanted else f"sqlite:///{Path(wanted).expanduser().resolve()}"


def _is_project(root: Path) -> bool:
    return (root / AGENTS).is_dir() or (root / PROJECT_FILE).is_file()


def _user_folder() -> Path:
    home = os.environ.get("XDG_DATA_HOME")
    folder = (Path(home) if home else Path.home() / ".local" / "share") / "agentflow"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder
