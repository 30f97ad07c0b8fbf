"""What the schema of an agent.yaml cannot check: that everything it names is there and makes sense together (A4)."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from agentflow.agents.sub_agent_checks import sub_agent_problems, sub_agent_warnings
from agentflow.agents.worker import OPEN_TO_READING, imported, is_open_to_reading
from agentflow.config.agent_config import AgentConfig
from agentflow.config.document.problems import Path as KeyPath
from agentflow.config.document.problems import Problem
from agentflow.config.material import material_errors
from agentflow.config.project import find_agent, open_project, project_root
from agentflow.errors import InvalidConfig
from agentflow.models.scripted_model import PREFIX, ScriptedModel
from agentflow.tools.flows.library import FlowLibrary
from agentflow.tools.flows.reserved import BUILTIN_NAMES
from agentflow.tools.hook_calls import hook_complaint
from agentflow.tools.tool import tool_of

_OF_SUMMARIES = ("prompt", "llm", "model")


@dataclass(frozen=True, slots=True)
class Validation:
    """Errors keep an agent from running, warnings do not; each reads `path:line:col: key: sentence`."""

    errors: tuple[str, ...]
    warnings: tuple[str, ...]


def validate_agent(
    agent: str | Path, project: str | Path = ".", *, variables: Mapping[str, str] | None = None
) -> Validation:
    """Check one agent, given by name or path, without running anything of it but the import of its flow files.

    `variables` stand for the environment. Raises `AgentNotFound`.
    """
    root = Path(project).resolve()
    path = find_agent(root, str(agent))
    home = root if path.is_relative_to(root) else project_root(path)
    environment = os.environ if variables is None else variables
    try:
        opened = open_project(home, variables=variables)
        config = opened.load(path, environment)
    except InvalidConfig as error:
        return Validation(tuple(_entries(error)), ())
    library = FlowLibrary.of_project(home)
    of_sub_agents = sub_agent_problems(config, opened, environment, lambda child: _own_errors(child, library))
    warnings = [*_warnings(config), *sub_agent_warnings(config, opened, environment)]
    return Validation((*_own_errors(config, library), *map(str, of_sub_agents)), tuple(map(str, warnings)))


def _own_errors(config: AgentConfig, library: FlowLibrary) -> list[str]:
    """What is wrong with an agent, its sub-agents apart."""
    problems = [
        *_tools(config, library), *_hooks(config, library), *_worker(config, library), *_models(config),
    ]  # fmt: skip
    return [*map(str, problems), *(entry for error in material_errors(config) for entry in _entries(error))]


def _entries(error: InvalidConfig) -> list[str]:
    """The complaints of one error apart: each begins with its place, the source line and caret follow it."""
    places = [f"{each['file']}:{each['line']}:{each['column']}: " for each in error.detail.get("problems", ())]
    entries: list[str] = []
    for line in error.message.splitlines():
        if places and line.startswith(places[0]):
            places.pop(0)
            entries.append(line)
        elif entries:
            entries[-1] += f"\n{line}"
        else:
            entries.append(line)
    return entries


def _tools(config: AgentConfig, library: FlowLibrary) -> Iterator[Problem]:
    for index, entry in enumerate(config.tools):
        if entry.name in BUILTIN_NAMES:
            yield config.problem(("tools", index), f"'{entry.name}' is the name of a built-in tool; choose another")
            continue
        if entry.flow is None:
            continue
        try:
            _ = tool_of(library.get(entry.flow, base=config.folder), name=entry.name).parameters
        except InvalidConfig as error:
            yield config.problem(("tools", index), error.message)


def _hooks(config: AgentConfig, library: FlowLibrary) -> Iterator[Problem]:
    for point in type(config.hooks).model_fields:
        for index, entry in enumerate(getattr(config.hooks, point)):
            try:
                complaint = hook_complaint(library.get(entry.flow, base=config.folder), point)
            except InvalidConfig as error:
                complaint = error.message
            if complaint is not None:
                yield config.problem(("hooks", point, index), complaint)


def _worker(config: AgentConfig, library: FlowLibrary) -> Iterator[Problem]:
    """A worker at a URL is only asked when a turn runs."""
    if config.worker is None or config.worker.startswith(("http://", "https://")):
        return
    try:
        library.get(config.worker, base=config.folder)
    except InvalidConfig as error:
        if imported(config.worker) is None:
            yield config.problem(("worker",), error.message)


def _models(config: AgentConfig) -> Iterator[Problem]:
    """A model string of a provider is only tried when it is called; a script is read."""
    for name, interface in config.interfaces.items():
        if not interface.model.startswith(PREFIX):
            continue
        key: KeyPath = ("model",) if name == "main" and config.model else ("interfaces", name, "model")
        try:
            ScriptedModel.from_file(interface.model, config.folder)
        except InvalidConfig as error:
            yield config.problem(key, error.message)


def _warnings(config: AgentConfig) -> Iterator[Problem]:
    settings = config.settings
    if settings.memory:
        yield config.problem(("settings", "memory"), "is reserved and has no effect; use the memory flows as tools")
    if not settings.observability:
        yield config.problem(
            ("settings", "observability"), "is off: earlier turns are not replayed to the model and leave no trace"
        )
    calls, per_reply = settings.max_tool_calls, settings.max_tool_calls_per_reply
    if calls and per_reply > calls and "max_tool_calls_per_reply" in settings.model_fields_set:
        yield config.problem(
            ("settings", "max_tool_calls_per_reply"), f"never binds: max_tool_calls ({calls}) is reached before it"
        )
    turn, call = settings.turn_timeout_secs, settings.llm_timeout_secs
    if turn and call > turn and "llm_timeout_secs" in settings.model_fields_set:
        yield config.problem(
            ("settings", "llm_timeout_secs"), f"never binds: turn_timeout_secs ({turn:g}) is over before it"
        )
    if config.worker is not None and is_open_to_reading(config.worker, config.worker_secret):
        yield config.problem(("worker",), OPEN_TO_READING)
    yield from _context_warnings(config)


def _context_warnings(config: AgentConfig) -> Iterator[Problem]:
    window = config.context.window
    for index, strategy in enumerate(config.context.strategy):
        if strategy.use == "summarize" and not (window or strategy.idle_secs is not None or strategy.over_tokens):
            yield config.problem(
                ("context", "strategy", index), "applies only when the provider refuses a call: no window, no size"
            )
        elif strategy.use == "reset" and (given := [key for key in _OF_SUMMARIES if getattr(strategy, key)]):
            yield config.problem(("context", "strategy", index, given[0]), "has no effect: a reset writes no summary")
