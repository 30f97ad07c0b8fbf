"""Everything that is looked at when agentflow does not work somewhere."""

from __future__ import annotations

from pathlib import Path

from agentflow.agents.project_folder import open_project
from agentflow.config.places import database_url
from agentflow.errors import AgentflowError
from agentflow.health.check import Check
from agentflow.health.database import database_checks
from agentflow.health.machine import machine_checks
from agentflow.health.project import model_checks, project_checks

DEFAULT_PORT = 8080


async def diagnose(
    project: str | Path = ".", *, db: str | None = None, connect: bool = False, port: int = DEFAULT_PORT
) -> list[Check]:
    """Look at Python, the libraries, the project's agents, their keys, the database and a port; nothing is changed.

    With `connect` each model is asked for a word, which calls it. `db` is as `Runtime.open` takes it.
    """
    root, files = open_project(project)
    found = [*machine_checks(port)]
    try:
        shared = files.project
    except AgentflowError as error:
        found.append(Check("project", "failed", error.message.splitlines()[0], "agentflow validate shows what to mend"))
        return found
    found += project_checks(root)
    found += [each async for each in model_checks(root)] if connect else [_not_asked()]
    try:
        url = database_url(root, shared.db, db, read_only=True, trusted=False)
    except AgentflowError as error:
        return [*found, Check("database", "failed", error.message, "name one with --db or AGENTFLOW_DB")]
    return [*found, *database_checks(url)]


def _not_asked() -> Check:
    return Check("models", "skipped", "not asked; --connect asks each for a word, which calls it")
