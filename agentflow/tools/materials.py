"""`read_skill` and `read_reference`: tools whose whole work is to hand out a text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agentflow.config.material import Material, named
from agentflow.tools.flows import reserved
from agentflow.tools.results import ToolResult, refused
from agentflow.tools.tool import Tool


def material_tools(material: Material, max_result_chars: int) -> list[Tool]:
    """The tools for what there is to read."""
    listed = [skill.name for skill in material.skills if not skill.inline]
    tools = []
    if listed:
        tools.append(_tool(reserved.READ_SKILL, "Read a skill by its name.", listed, max_result_chars))
    if material.references:
        names = [reference.name for reference in material.references]
        tools.append(_tool(reserved.READ_REFERENCE, "Read a reference by its name.", names, max_result_chars))
    return tools


def read(material: Material, tool: str, arguments: Mapping[str, Any]) -> ToolResult:
    """What `read_skill` or `read_reference` gives for checked arguments."""
    name = str(arguments["name"])
    if tool == reserved.READ_SKILL:
        skill = named(material.skills, name)
        return _result(name, None if skill is None else skill.body)
    reference = named(material.references, name)
    return _result(name, None if reference is None else reference.text)


def _result(name: str, text: str | None) -> ToolResult:
    return refused(f"there is nothing called '{name}'", "unknown_name") if text is None else ToolResult(True, text)


def _tool(name: str, description: str, names: Sequence[str], max_result_chars: int) -> Tool:
    parameters = {
        "type": "object",
        "additionalProperties": False,
        "required": ["name"],
        "properties": {"name": {"type": "string", "enum": list(names)}},
    }
    return Tool(name, description, parameters, timeout_secs=0, max_result_chars=max_result_chars)
