"""A project's folder, found and ready to be read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from agentflow.agents.loading import keeps_last_good
from agentflow.config.last_good import AgentFiles
from agentflow.errors import InvalidConfig, InvalidInput


def open_project(project: Any) -> tuple[Path, AgentFiles]:
    """The folder and its agents' files. Raises `InvalidInput` for what is no path, `InvalidConfig`."""
    if not isinstance(project, str | Path):
        raise InvalidInput(f"project: must be a path, not a {type(project).__name__}.", detail={"field": "project"})
    root = Path(project).resolve()
    if not root.is_dir():
        raise InvalidConfig(f"There is no project folder {str(project)!r}.", detail={"project": str(project)})
    return root, AgentFiles(root, report=keeps_last_good)
