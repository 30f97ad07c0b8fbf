"""An agent ready to run: its configuration with everything it names found and opened."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from agentflow import clock
from agentflow.agents.worker import Worker
from agentflow.config.agent_config import AgentConfig, Interface
from agentflow.config.keys.references import MAIN, interface_name
from agentflow.config.material import NO_MATERIAL, Material
from agentflow.config.prompt import system_prompt
from agentflow.context.strategies import Context, Strategy
from agentflow.conversation import wire
from agentflow.conversation.inbox import ClientTool
from agentflow.conversation.tool_schema import schema_complaint
from agentflow.errors import InvalidConfig, InvalidInput
from agentflow.models.fallback.candidates import Candidates
from agentflow.models.protocol import Model
from agentflow.text import compact_json, digest
from agentflow.tools.flows.reserved import BUILTIN_NAMES
from agentflow.tools.hook_calls import Hook
from agentflow.tools.tool import CLIENT, WORKER, Tool, client_tool, tool_schemas

_LEVELS = {
    "off": logging.CRITICAL + 1,
    "warn": logging.WARNING,
    "info": logging.INFO,
    "debug": logging.DEBUG,
}

TEXTS = ("prompt", "response_guidelines", "constraints")
TEMPLATE = "template"
"""Beside a worker's `TEXTS`: the names of those that are templates, which they are not by themselves (Z7)."""

_ROOM = 4_000  # tokens, for reasoning and one line
_REASONING = frozenset({"thinking", "reasoning", "reasoning_effort"})

OpenInterface = Callable[[Interface], Model]

RenderPrompt = Callable[[Mapping[str, Any], Mapping[str, Any], Mapping[str, Any]], str]
"""`(inputs, vars, session) -> text`: the system prompt of one step (A1)."""


@dataclass(frozen=True)
class LoadedAgent:
    """Made once for a configuration and shared by its turns. `models` are by interface name, `main` always there.

    `sub_agents` are the names it may call, each with the reference it is loaded by (T34).
    """

    config: AgentConfig
    tools: Mapping[str, Tool]
    models: Mapping[str, Model]
    render_prompt: RenderPrompt
    material: Material = NO_MATERIAL
    hooks: Mapping[str, Sequence[Hook]] = field(default_factory=dict)
    sub_agents: Mapping[str, str] = field(default_factory=dict)
    worker: Worker | None = None
    open_model: OpenInterface = field(default=lambda interface: _cannot_open(interface))

    @cached_property
    def logger(self) -> logging.Logger:
        """The agent's own log, `agentflow.agent.NAME`, as loud as `settings.logging_level` says."""
        logger = logging.getLogger(f"agentflow.agent.{self.config.name}")
        logger.setLevel(_LEVELS[self.config.settings.logging_level])
        return logger

    @property
    def model(self) -> Model:
        return self.models["main"]

    @property
    def planner(self) -> Candidates | None:
        """Who plans each turn before its first call, if anybody does (T33)."""
        planning = self.config.planning
        if planning is None or planning.planner is None:
            return None
        return self.candidates_for(interface_name(planning.planner), None)

    @property
    def first_call(self) -> str | None:
        """The model of a step's first call, which the claim records (T11); null when something comes before it, or when
        who is asked is not known by then (W5).
        """
        comes_first = self.planner is None and "step_start" not in self.hooks and self.worker is None
        return self.model.name if comes_first and not self.config.interfaces[MAIN].fallback else None

    def with_limits(self, limits: Mapping[str, Any]) -> LoadedAgent:
        """The same agent for a turn whose request set limits (C8). Raises `InvalidInput`."""
        return replace(self, config=self.config.with_limits(limits)) if limits else self

    def check_client_tools(self, tools: Sequence[ClientTool]) -> None:
        """Refuse tools of a request's client that the agent cannot be given (C37). Raises `InvalidInput`."""
        for index, tool in enumerate(tools):
            if tool.name in BUILTIN_NAMES or (tool.name in self.tools and tool.name not in self.client_tools):
                wire.refuse(f"tools[{index}].name", f"the agent has a tool {tool.name!r} of its own; choose another.")
            if (reason := schema_complaint(tool.parameters)) is not None:
                wire.refuse(f"tools[{index}].parameters", reason)

    def with_client_tools(self, tools: Sequence[ClientTool]) -> LoadedAgent:
        """The same agent with what a request's client performs, after its own; its own keep their name (C37)."""
        if not tools:
            return self
        chars = self.config.settings.tool_result_max_chars
        given = {each.name: client_tool(each.name, each.description, each.parameters, chars) for each in tools}
        return self.with_tools({**self.tools, **{name: given[name] for name in given if name not in self.tools}})

    def changed(self, changes: Mapping[str, Any]) -> LoadedAgent:
        """The same agent with some of its configuration changed by its worker (C31). Raises `InvalidInput`."""
        texts = {name: value for name, value in changes.items() if name != TEMPLATE}
        config = self.config.changed(texts)
        literal = [name for name in TEXTS if name in changes and name not in changes.get(TEMPLATE, ())]
        models = self.models if config.model == self.config.model else {**self.models, **self._as_main(config.model)}
        tools = self._offered(config) if changes.keys() & {"tools", "settings"} else self.tools
        prompt = prompt_of(config, self.material, literal)
        return replace(self, config=config, render_prompt=prompt, models=models, tools=tools)

    @cached_property
    def naming_model(self) -> Model:
        """Who names the chats; where it reasons first, with room for the name after that (R7)."""
        name = interface_name(self.config.settings.naming_interface or MAIN)
        interface = self.config.interfaces[name]
        reasons = interface.reasoning_effort not in (None, "none") or _REASONING & interface.extra.keys()
        if not reasons or (interface.max_output_tokens or _ROOM) >= _ROOM:
            return self.models[name]
        return self.open_model(interface.model_copy(update={"max_output_tokens": _ROOM}))

    def _as_main(self, reference: str | None) -> dict[str, Model]:
        """The models of an interface, by the names of the main one's."""
        name = interface_name(reference or MAIN)
        others = range(len(self.config.interfaces[name].fallback))
        return {MAIN: self.models[name]} | {
            fallback_name(MAIN, index): self.models[fallback_name(name, index)] for index in others
        }

    def _offered(self, config: AgentConfig) -> dict[str, Tool]:
        """The tools of this configuration, the built-in ones as they are."""
        of_file, settings = {entry.name for entry in self.config.tools}, config.settings
        offered = {
            entry.name: replace(
                self.tools[entry.name],
                timeout_secs=settings.tool_timeout_secs if entry.timeout_secs is None else entry.timeout_secs,
                max_result_chars=(
                    settings.tool_result_max_chars if entry.max_result_chars is None else entry.max_result_chars
                ),
                ends_turn=entry.ends_turn,
                handler=entry.handler,
            )
            for entry in config.tools
            if entry.name not in self.withheld_tools
        }
        for name, tool in offered.items():
            if tool.flow is None and tool.handler != CLIENT:
                raise InvalidInput(f"tools: {name!r} has no flow; only the client can perform it.")
        others = {name: tool for name, tool in self.tools.items() if name not in of_file}
        return dict(sorted((offered | others).items(), key=lambda each: each[1].handler == CLIENT))

    def candidates_for(self, interface: str | None, model: str | None) -> Candidates:
        """Who is asked in the name of an interface, under another model string if one is given (W5)."""
        name, own = interface or MAIN, self.model_for(interface, model)
        keys = self.config.interfaces[name]
        others = (self.models[fallback_name(name, index)] for index in range(len(keys.fallback)))
        return Candidates((own, *(other for other in others if other is not own)), keys.cool_down_secs)

    def model_for(self, interface: str | None, model: str | None) -> Model:
        """The model of an interface, under another model string if one is given. Raises `AgentflowError`."""
        name = interface or MAIN
        if model is None:
            return self.models[name]
        known = self.models.get(summary_interface(interface, model))
        return known or self.open_model(self.config.interfaces[name].model_copy(update={"model": model}))

    @cached_property
    def worker_tools(self) -> frozenset[str]:
        """The tools whose calls are left to the worker (C32)."""
        return frozenset(name for name, tool in self.tools.items() if tool.handler == WORKER)

    @cached_property
    def client_tools(self) -> frozenset[str]:
        """The tools that the client performs (C37)."""
        return frozenset(name for name, tool in self.tools.items() if tool.handler == CLIENT)

    @cached_property
    def withheld_tools(self) -> frozenset[str]:
        """The tools of the client that its file names and that it may not call here, as below a `task` (C38, T22)."""
        return frozenset(entry.name for entry in self.config.tools if entry.handler == CLIENT) - self.tools.keys()

    def with_tools(self, tools: Mapping[str, Tool]) -> LoadedAgent:
        """The same agent with other tools."""
        return replace(self, tools=tools)

    @cached_property
    def context(self) -> Context:
        """When room is made (X11)."""
        keys = self.config.context
        return Context(
            keys.window,
            tuple(
                Strategy(each.use, each.idle_secs, each.over_tokens, each.prompt, each.llm, each.model)
                for each in keys.strategy
            ),
        )

    @cached_property
    def schemas(self) -> list[dict[str, Any]]:
        return tool_schemas(self.tools.values())

    @cached_property
    def schemas_text(self) -> str:
        return compact_json(self.schemas)

    @cached_property
    def schemas_hash(self) -> str:
        return digest(self.schemas_text)

    @cached_property
    def schemas_chars(self) -> int:
        return len(self.schemas_text) if self.schemas else 0

    @cached_property
    def config_text(self) -> str:
        """The configuration as the store keeps it under its hash, without secrets (A7)."""
        return json.dumps(self.config.public(), ensure_ascii=False, sort_keys=True, separators=(",", ":"))

    @cached_property
    def enders(self) -> frozenset[str]:
        """The tools that end the turn with their result (T8)."""
        return frozenset(name for name, tool in self.tools.items() if tool.ends_turn)


def prompt_of(config: AgentConfig, material: Material, literal: Sequence[str] = ()) -> RenderPrompt:
    """How the agent's system prompt is written for a step; the keys in `literal` are no templates."""

    def render(inputs: Mapping[str, Any], variables: Mapping[str, Any], session: Mapping[str, Any]) -> str:
        today = clock.now().date()
        return system_prompt(
            config, material, inputs=inputs, vars=variables, session=session, today=today, literal=literal
        )

    return render


def _cannot_open(interface: Interface) -> Model:
    raise InvalidConfig(f"no model can be opened here for {interface.model!r}")


def fallback_name(interface: str, index: int) -> str:
    """The name in `models` of an interface's fallback, counted from 0."""
    return f"{interface} or {index + 1}"


def summary_interface(llm: str | None, model: str | None) -> str:
    """The name in `models` of a strategy's model: an interface, or one with another model string."""
    return (llm or MAIN) if model is None else f"{llm or MAIN} as {model}"
