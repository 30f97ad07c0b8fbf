"""Mistakes under `sub_agents`: one that is not there or not valid, one listed twice, a circle of them (A4)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from agentflow.config.agent_config import AgentConfig
from agentflow.config.document.codes import Code
from agentflow.config.document.problems import Problem
from agentflow.config.project import Project, find_agent, sub_agent_reference
from agentflow.errors import AgentNotFound, InvalidConfig

Load = Callable[[Path], AgentConfig]
ErrorsOf = Callable[[AgentConfig], list[str]]


def sub_agent_problems(
    config: AgentConfig, project: Project, variables: Mapping[str, str], errors_of: ErrorsOf
) -> Iterator[Problem]:
    """The mistakes in what an agent lists under `sub_agents`, those of the listed agents' own files included."""
    loaded: dict[Path, AgentConfig] = {config.path: config}

    def load(path: Path) -> AgentConfig:
        if path not in loaded:
            loaded[path] = project.load(path, variables)
        return loaded[path]

    names: list[str] = []
    for index, listed in enumerate(config.sub_agents):
        if listed is None:  # it could not be read
            continue
        key = ("sub_agents", index)
        try:
            child = load(find_agent(project.root, sub_agent_reference(config, listed)))
        except AgentNotFound as error:
            yield config.problem(key, Code.SUB_AGENT, error.message)
            continue
        except InvalidConfig as error:
            yield config.problem(key, Code.SUB_AGENT_INVALID, f"is not valid: {error.message.splitlines()[0]}")
            continue
        if child.name in names:
            yield config.problem(key, Code.NAMED_TWICE, f"the sub-agent {child.name!r} is named twice")
        names.append(child.name)
        if errors := errors_of(child):
            yield config.problem(key, Code.SUB_AGENT_INVALID, f"is not valid: {errors[0].splitlines()[0]}")
        circle = _circle(child, [config.path], project, load)
        if circle:
            yield config.problem(
                key, Code.SUB_AGENT_CIRCLE, f"the sub-agents call each other in a circle: {' -> '.join(circle)}"
            )


def sub_agent_warnings(config: AgentConfig, project: Project, variables: Mapping[str, str]) -> Iterator[Problem]:
    """Sub-agents that need an input which no request to this agent can give, and those whose file says what cannot hold
    in a sub-agent (T35).
    """
    for index, listed in enumerate(config.sub_agents):
        if listed is None:  # it could not be read
            continue
        try:
            child = project.load(find_agent(project.root, sub_agent_reference(config, listed)), variables)
        except (AgentNotFound, InvalidConfig):
            continue
        if child.settings.observability != config.settings.observability:
            yield config.problem(
                ("sub_agents", index),
                Code.SUB_AGENT_SETTING,
                f"'{child.name}' has another settings.observability, which does not hold in a sub-agent: what a turn "
                "keeps is a matter of the agent that the session belongs to",
            )
        missing = [name for name, spec in child.inputs.items() if spec.required and name not in config.inputs]
        if missing:
            needed = ", ".join(missing)
            yield config.problem(
                ("sub_agents", index),
                Code.SUB_AGENT_INPUT,
                f"can never run: it requires the input {needed}, which this agent does not have",
            )


def _circle(config: AgentConfig, above: list[Path], project: Project, load: Load) -> list[str]:
    """The names on the way from where a circle begins back to it; empty when no way from here leads into one."""
    if config.path in above:
        return [load(path).name for path in (*above[above.index(config.path) :], config.path)]
    for listed in config.sub_agents:
        try:
            child = load(find_agent(project.root, sub_agent_reference(config, listed)))
        except (AgentNotFound, InvalidConfig):
            continue  # told when that agent is checked
        if circle := _circle(child, [*above, config.path], project, load):
            return circle
    return []
