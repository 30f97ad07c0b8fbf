"""The system prompt: its sections in one order, each a template (A1)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

from agentflow.config.document.codes import Code
from agentflow.config.document.problems import Path
from agentflow.config.keys.templates import TemplateFault, render, together, variables
from agentflow.config.material import NO_MATERIAL, Material, Skill

if TYPE_CHECKING:
    from agentflow.config.agent_config import AgentConfig

_Variables = Mapping[str, Any] | None  # null: the text is no template

SKILLS = "Read a skill with read_skill before you do what it is about."
SUB_AGENTS = (
    "Give a sub-agent a piece of work with task: it answers to you. Hand the whole conversation over with delegate: "
    "its answer goes to the user and ends your turn."
)
REFERENCES = "Read a reference with read_reference when you need what is in it."
PLANNING = """# Planning
For work of several steps keep a todo list with write_todos: write it before you start, mark an item in_progress when
you begin it and completed as soon as it is done, and change the list when the work turns out differently."""


def system_prompt(
    config: AgentConfig,
    material: Material = NO_MATERIAL,
    *,
    inputs: Mapping[str, Any],
    vars: Mapping[str, Any],
    session: Mapping[str, Any],
    today: date,
    literal: Collection[str] = (),
) -> str:
    """The system prompt of one step, its sections in the order of A1: prompt, skills, sub-agents, references,
    planning, response guidelines, constraints.

    `inputs` has every declared input, None for one without a value, which renders as nothing. The keys in `literal`
    hold text that is no template. Raises `InvalidConfig` with the place of the template that could not be rendered.
    """
    texts = (config.prompt, *config.response_guidelines, *config.constraints)
    values = together(variables(inputs, vars, session, today), texts)
    filled_in = {key: None if key in literal else values for key in ("prompt", "response_guidelines", "constraints")}
    sections = [
        _render(config, ("prompt",), config.prompt, filled_in["prompt"]).strip("\n"),
        _skills(material.skills),
        _catalog("Sub-agents", SUB_AGENTS, material.sub_agents),
        _catalog("References", REFERENCES, [(each.name, each.description) for each in material.references]),
        PLANNING if config.planning is not None else "",
        _list_section(config, "response_guidelines", "Response guidelines", config.response_guidelines, filled_in),
        _list_section(config, "constraints", "Constraints", config.constraints, filled_in),
    ]
    return "\n\n".join(section for section in sections if section)


def _skills(skills: Sequence[Skill]) -> str:
    listed = _catalog("Skills", SKILLS, [(each.name, each.description) for each in skills if not each.inline])
    inline = [f"# Skill: {each.name}\n{each.body}" for each in skills if each.inline]
    return "\n\n".join(section for section in (listed, *inline) if section)


def _catalog(title: str, how: str, entries: Sequence[tuple[str, str]]) -> str:
    lines = [f"- {name}: {description}" if description else f"- {name}" for name, description in entries]
    return "\n".join([f"# {title}", how, *lines]) if lines else ""


def _list_section(
    config: AgentConfig, key: str, title: str, items: Sequence[str], variables: Mapping[str, _Variables]
) -> str:
    rendered = [_render(config, (key, index), item, variables[key]).strip() for index, item in enumerate(items)]
    lines = ["- " + item.replace("\n", "\n  ") for item in rendered if item]
    return "\n".join([f"# {title}", *lines]) if lines else ""


def _render(config: AgentConfig, path: Path, text: str, variables: _Variables) -> str:
    if variables is None:
        return text
    try:
        return render(text, variables)
    except TemplateFault as fault:
        raise config.invalid(
            path, Code.TEMPLATE, f"the template cannot be rendered: {fault}", line=fault.line
        ) from fault
