"""Everything an agent names, looked up in one place: what is found, and a problem for each that is not (A2, A4).

Loading refuses an agent with problems, `validate` shows them; an entry that could not be read is passed over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from agentflow.agents.advisories import model_key
from agentflow.agents.loaded_agent import fallback_name, summary_interface
from agentflow.agents.worker import HttpWorker, PythonWorker, Worker, imported
from agentflow.config.agent_config import AgentConfig, Interface
from agentflow.config.document.codes import Code
from agentflow.config.document.problems import Path as KeyPath
from agentflow.config.document.problems import Problem, dotted, window
from agentflow.config.interfaces import fallbacks
from agentflow.config.keys.agent import HookEntry, ToolEntry
from agentflow.config.keys.base import plain
from agentflow.config.keys.references import MAIN
from agentflow.config.material import Material, read_material
from agentflow.config.project import shown
from agentflow.errors import InvalidConfig
from agentflow.models.fallback.fitting import fitted
from agentflow.models.protocol import Model
from agentflow.tools.flows.library import Flow, FlowLibrary
from agentflow.tools.flows.places import parameter_place
from agentflow.tools.flows.reserved import BUILTIN_NAMES
from agentflow.tools.hook_arguments import HookArguments, find_arguments, named_flows
from agentflow.tools.hook_calls import Hook, context_name, hook_complaint
from agentflow.tools.tool import Tool, client_tool, tool_of

Entry = TypeVar("Entry")
Open = Callable[[Interface], Model | None]
"""The model of an interface, null where it is not opened. Raises `InvalidConfig`."""


@dataclass(slots=True)
class Parts:
    """What was found; the tools of the client apart from those that are flows."""

    tools: dict[str, Tool] = field(default_factory=dict)
    client_tools: dict[str, Tool] = field(default_factory=dict)
    hooks: dict[str, tuple[Hook, ...]] = field(default_factory=dict)
    models: dict[str, Model] = field(default_factory=dict)
    material: Material = field(default_factory=Material)
    worker: Worker | None = None
    problems: list[Problem] = field(default_factory=list)


def find_parts(
    config: AgentConfig,
    library: FlowLibrary,
    open_model: Open,
    *,
    flows: Mapping[str, Flow],
    sub_agents: Sequence[tuple[str, str]] = (),
    imports: bool = True,
) -> Parts:
    """Look everything up; `flows` go before the library's, `sub_agents` are `(name, description)`.

    Without `imports` nothing of the project is run: of a flow it is only seen whether its file has it (Z1).
    """
    search = _Search(config, library, flows, open_model, imports)
    search.tools()
    search.hooks()
    search.worker()
    search.models()
    search.parts.material, unread = read_material(config, sub_agents)
    search.parts.problems += unread
    return search.parts


class _Search:
    def __init__(
        self, config: AgentConfig, library: FlowLibrary, flows: Mapping[str, Flow], open_model: Open, imports: bool
    ) -> None:
        self.parts = Parts()
        self._config = config
        self._library = library
        self._flows = flows
        self._open_model = open_model
        self._imports = imports

    def tools(self) -> None:
        for index, entry in _readable(self._config.tools):
            key = ("tools", index)
            if entry.name in BUILTIN_NAMES:
                self._complain(
                    key, Code.BUILT_IN_NAME, f"'{entry.name}' is the name of a built-in tool; choose another"
                )
            elif entry.flow is None:
                self.parts.client_tools[entry.name] = self._client_tool(entry)
            elif (flow := self._flow(key, entry.flow)) is not None:
                self._tool(key, entry, flow)

    def _tool(self, key: KeyPath, entry: ToolEntry, flow: Flow) -> None:
        if flow.hook_points:
            points = ", ".join(flow.hook_points)
            self._complain(key, Code.FLOW_SIGNATURE, f"{flow.where}: flow '{flow.name}' is a hook at {points}, no tool")
            return
        settings = self._config.settings
        try:
            tool = tool_of(
                flow,
                name=entry.name,
                timeout_secs=settings.tool_timeout_secs if entry.timeout_secs is None else entry.timeout_secs,
                max_result_chars=self._chars(entry),
                ends_turn=entry.ends_turn,
                handler=entry.handler,
            )
        except InvalidConfig as error:
            self._complain_of_signature(key, flow, error)
        else:
            self.parts.tools[entry.name] = tool

    def _client_tool(self, entry: ToolEntry) -> Tool:
        return client_tool(entry.name, entry.description, plain(entry.parameters), self._chars(entry))

    def _chars(self, entry: ToolEntry) -> int:
        given = entry.max_result_chars
        return self._config.settings.tool_result_max_chars if given is None else given

    def hooks(self) -> None:
        for point in type(self._config.hooks).model_fields:
            entries: Sequence[HookEntry] = getattr(self._config.hooks, point)
            found = [self._hook(point, index, entry) for index, entry in _readable(entries)]
            if hooks := tuple(hook for hook in found if hook is not None):
                self.parts.hooks[point] = hooks

    def _hook(self, point: str, index: int, entry: HookEntry) -> Hook | None:
        key = ("hooks", point, index)
        flow = self._flow(key, entry.flow)
        if flow is None:
            return None
        try:
            if (complaint := hook_complaint(flow, point, entry.arguments)) is not None:
                self._complain(key, Code.HOOK_SIGNATURE, complaint)
                return None
            arguments = self._arguments((*key, "with"), flow, point, entry) if entry.arguments else None
        except InvalidConfig as error:  # its signature cannot be read
            self._complain(key, Code.HOOK_SIGNATURE, error.message)
            return None
        return Hook(flow, entry.timeout_secs, entry.on_error == "ignore", arguments)

    def _arguments(self, key: KeyPath, flow: Flow, point: str, entry: HookEntry) -> HookArguments | None:
        given = plain(entry.arguments)
        for name, reference in named_flows(flow, given):
            self._flow((*key, name), reference)
        arguments, complaints = find_arguments(flow, given, context_name(flow, point, given))
        for path, message in complaints:
            self._complain((*key, *path), Code.HOOK_ARGUMENTS, message)
        return arguments

    def _flow(self, key: KeyPath, reference: str) -> Flow | None:
        try:
            if not self._imports:
                self._library.locate(reference, base=self._config.folder)
                return None
            return self._flows.get(reference) or self._library.get(reference, base=self._config.folder)
        except InvalidConfig as error:
            self._complain(key, Code.FLOW, error.message)
            return None

    def worker(self) -> None:
        reference = self._config.worker
        if reference is None or not self._imports:  # a module of another place is only known by its import
            return
        if reference.startswith(("http://", "https://")):  # only asked when a turn runs
            self.parts.worker = HttpWorker(reference, self._config.worker_secret)
            return
        try:
            function = self._library.get(reference, base=self._config.folder).function
        except InvalidConfig as error:
            if (module := imported(reference)) is None:
                self._complain(("worker",), Code.WORKER, error.message)
                return
            function = module
        self.parts.worker = PythonWorker(reference, function)

    def models(self) -> None:
        for name, interface, key in used_interfaces(self._config):
            self._model(name, interface, key)

    def _model(self, name: str, interface: Interface, key: KeyPath) -> None:
        try:
            model = self._open_model(interface)
        except InvalidConfig as error:
            self._complain(key, Code.SCRIPT, error.message)
        else:
            if model is not None:
                self.parts.models[name] = model

    def _complain_of_signature(self, key: KeyPath, flow: Flow, error: InvalidConfig) -> None:
        """Each parameter that cannot be described, at its own place in the flow's file (D62)."""
        for name, said in error.detail.get("parameters", {}).items():
            place = parameter_place(flow.path, flow.line, name)
            source, caret = window(place.source, place.column - 1)
            message = f"parameter '{name}' of flow '{flow.name}' {said} (a tool at {self._config.position(*key)})"
            file, path = shown(flow.path), dotted(key)
            self.parts.problems.append(
                Problem(file, place.line, place.column, path, Code.FLOW_SIGNATURE, message, source, caret)
            )
        if not error.detail.get("parameters"):
            self._complain(key, Code.FLOW_SIGNATURE, error.message)

    def _complain(self, key: KeyPath, code: Code, message: str) -> None:
        self.parts.problems.append(self._config.problem(key, code, message))


def used_interfaces(config: AgentConfig) -> Iterator[tuple[str, Interface, KeyPath]]:
    """Each way an agent calls a model, by the name its model has, with where the model string stands."""
    for name, interface in config.interfaces.items():
        yield name, interface, model_key(config, name)
        for index, other in enumerate(fallbacks(config.interfaces, name)):
            yield fallback_name(name, index), fitted(other), ("interfaces", name, "fallback", index)
    for index, strategy in _readable(config.context.strategy):
        base = config.interfaces.get(strategy.llm or MAIN)
        if strategy.model is not None and base is not None:
            name = summary_interface(strategy.llm, strategy.model)
            written = base.model_copy(update={"model": strategy.model})
            yield name, written, ("context", "strategy", index, "model")


def _readable(entries: Sequence[Entry]) -> Iterator[tuple[int, Entry]]:
    """The entries with their places in the file, without those that could not be read."""
    return ((index, entry) for index, entry in enumerate(entries) if entry is not None)
