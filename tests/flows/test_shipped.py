"""Every flow we ship makes a tool, and imports nothing of agentflow but its public names."""

import ast
from pathlib import Path

import pytest

from agentflow.tools.flows.library import FlowLibrary, shipped_folder
from agentflow.tools.tool import tool_of

LIBRARY = FlowLibrary([shipped_folder()])
FILES = sorted(shipped_folder().glob("*.py"))


@pytest.mark.parametrize("name", sorted(LIBRARY.definitions()))
def test_a_shipped_flow_makes_a_tool_whose_parameters_are_described(name: str) -> None:
    tool = tool_of(LIBRARY.get(name))
    assert tool.description
    assert all(schema.get("description") for schema in tool.parameters["properties"].values())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_shipped_file_imports_public_names_only(path: Path) -> None:
    nodes = list(ast.walk(ast.parse(path.read_text())))
    modules = [node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module and not node.level]
    modules += [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    assert [module for module in modules if module.startswith("agentflow.")] == []
