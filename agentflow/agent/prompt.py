"""The system prompt: its sections in one order, each a jinja2 template in an immutable sandbox (A1).

jinja2 is loaded only for a text that has template marks in it.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Collection, Mapping, Sequence
from datetime import date
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from agentflow.agent.material import NO_MATERIAL, Material, Skill
from agentflow.agent.problems import Path, did_you_mean

if TYPE_CHECKING:
    from jinja2 import Template
    from jinja2.nodes import Node
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    from agentflow.agent.config import AgentConfig

VARIABLES = ("inputs", "vars", "session", "today")

SKILLS = "Read a skill with read_skill before you do what it is about."
SUB_AGENTS = (
    "Give a sub-agent a piece of work with task: it answers to you. Hand the whole conversation over with delegate: "
    "its answer goes to the user and ends your turn."
)
REFERENCES = "Read a reference with read_reference when you need what is in it."
PLANNING = """# Planning
For work of several steps keep a todo list with write_todos: write it before you start, mark an item in_progress when
you begin it and completed as soon as it is done, and change the list when the work turns out differently."""

_MARKS = re.compile(r"\{[{%#]")
# A prompt must be the same each time, or no provider could cache it (A1).
_RANDOM_GLOBALS, _RANDOM_FILTERS = ("lipsum",), ("random",)


def system_prompt(
    config: AgentConfig,
    material: Material = NO_MATERIAL,
    *,
    inputs: Mapping[str, Any],
    vars: Mapping[str, Any],
    session: Mapping[str, Any],
    today: date,
) -> str:
    """The system prompt of one step, its sections in the order of A1: prompt, skills, sub-agents, references,
    planning, response guidelines, constraints.

    `inputs` has every declared input, None for one without a value, which renders as nothing. Raises `InvalidConfig`
    with the place of the template that could not be rendered.
    """
    variables = dict(zip(VARIABLES, (inputs, vars, session, today), strict=True))
    sections = [
        _render(config, ("prompt",), config.prompt, variables).strip("\n"),
        _skills(material.skills),
        _catalog("Sub-agents", SUB_AGENTS, material.sub_agents),
        _catalog("References", REFERENCES, [(each.name, each.description) for each in material.references]),
        PLANNING if config.planning is not None else "",
        _list_section(config, "response_guidelines", "Response guidelines", config.response_guidelines, variables),
        _list_section(config, "constraints", "Constraints", config.constraints, variables),
    ]
    return "\n\n".join(section for section in sections if section)


def _skills(skills: Sequence[Skill]) -> str:
    listed = _catalog("Skills", SKILLS, [(each.name, each.description) for each in skills if not each.inline])
    inline = [f"# Skill: {each.name}\n{each.body}" for each in skills if each.inline]
    return "\n\n".join(section for section in (listed, *inline) if section)


def _catalog(title: str, how: str, entries: Sequence[tuple[str, str]]) -> str:
    lines = [f"- {name}: {description}" if description else f"- {name}" for name, description in entries]
    return "\n".join([f"# {title}", how, *lines]) if lines else ""


def template_complaints(text: str, inputs: Collection[str] | None) -> list[tuple[int, str]]:
    """What can be known to be wrong with a template before it is rendered, as `(line, message)`, lines from 1.

    `inputs` are the declared names, or None when they are not known.
    """
    if not _MARKS.search(text):
        return []
    from jinja2 import TemplateSyntaxError, nodes

    try:
        tree = _environment().parse(text)
        _template(text)
    except TemplateSyntaxError as error:
        return [(error.lineno, f"template error: {error.message}")]
    found = [*_unknown_variables(tree), *(_unknown_inputs(tree, inputs) if inputs is not None else ())]
    outside = (nodes.Include, nodes.Import, nodes.FromImport, nodes.Extends)
    found += [(node.lineno, "template error: a template cannot load other files") for node in tree.find_all(outside)]
    return sorted(set(found))


def _unknown_variables(tree: Any) -> list[tuple[int, str]]:
    from jinja2 import meta, nodes

    unknown = meta.find_undeclared_variables(tree) - {*VARIABLES, *_environment().globals}
    return [
        (node.lineno, f"template variable {node.name!r} does not exist{_variable_hint(node.name)}")
        for node in tree.find_all(nodes.Name)
        if node.name in unknown and node.ctx == "load"
    ]


def _variable_hint(name: str) -> str:
    return did_you_mean(name, VARIABLES) or f"; there are {', '.join(VARIABLES)}"


def _unknown_inputs(tree: Any, inputs: Collection[str]) -> list[tuple[int, str]]:
    from jinja2 import nodes

    found = []
    for node in tree.find_all((nodes.Getattr, nodes.Getitem)):
        name = _input_name(node)
        if name is not None and name not in inputs and not hasattr(dict, name):
            found.append((node.lineno, f"inputs.{name} is not declared under inputs{did_you_mean(name, list(inputs))}"))
    return found


def _input_name(node: Node) -> str | None:
    """The NAME of `inputs.NAME` or `inputs["NAME"]`."""
    from jinja2 import nodes

    owner = getattr(node, "node", None)
    if not isinstance(owner, nodes.Name) or owner.name != "inputs":
        return None
    if isinstance(node, nodes.Getattr):
        return node.attr
    key = getattr(node, "arg", None)
    return str(key.value) if isinstance(key, nodes.Const) else None


def _list_section(config: AgentConfig, key: str, title: str, items: Sequence[str], variables: Mapping[str, Any]) -> str:
    rendered = [_render(config, (key, index), item, variables).strip() for index, item in enumerate(items)]
    lines = ["- " + item.replace("\n", "\n  ") for item in rendered if item]
    return "\n".join([f"# {title}", *lines]) if lines else ""


def _render(config: AgentConfig, path: Path, text: str, variables: Mapping[str, Any]) -> str:
    if not _MARKS.search(text):
        return text
    try:
        return _template(text).render(variables)
    except Exception as error:  # whatever an expression of the author raises is a fault of the template
        line = next((each.lineno for each in reversed(traceback.extract_tb(error.__traceback__))
                     if each.filename == "<template>"), 0)  # fmt: skip
        raise config.invalid(path, f"the template cannot be rendered: {error}", line=line or 0) from error


@cache
def _environment() -> ImmutableSandboxedEnvironment:
    from jinja2 import StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    environment = ImmutableSandboxedEnvironment(
        undefined=StrictUndefined, keep_trailing_newline=True, finalize=_nothing_for_none, autoescape=False
    )
    for name in _RANDOM_GLOBALS:
        del environment.globals[name]
    for name in _RANDOM_FILTERS:
        del environment.filters[name]
    return environment


def _nothing_for_none(value: Any) -> Any:
    return "" if value is None else value


@lru_cache(maxsize=512)
def _template(text: str) -> Template:
    return _environment().from_string(text)
