"""Where things lie: the files of agents and projects, what we ship, the database. Nothing of them is opened.

Imported wherever a start must be quick, so it imports nothing that is not.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from urllib.parse import quote

from agentflow.errors import InvalidConfig, InvalidInput
from agentflow.secrets.known import learn_url

AGENT_FILE = "agent.yaml"
PROJECT_FILE = "agentflow.yaml"
AGENTS = "agents"


@cache
def shared_folder(kind: str) -> Path:
    """The folder of what we ship, `agent_yaml` or `workflows`: inside an installed package, else beside it."""
    package = Path(__file__).resolve().parent.parent
    installed = package / "_shared" / kind
    return installed if installed.is_dir() else package.parent / kind


def agent_folders(root: Path) -> tuple[Path, ...]:
    """Where agents are looked for by name: in the project, then among those we ship."""
    return root / AGENTS, shared_folder("agent_yaml") / AGENTS


def agent_names(root: Path) -> list[str]:
    """The names of the project's agents and of the shipped ones, sorted."""
    return sorted({path.parent.name for folder in agent_folders(root) for path in folder.glob(f"*/{AGENT_FILE}")})


def own_agents(root: Path) -> list[Path]:
    """The folders of a project's own agents, sorted."""
    return sorted(found.parent for found in root.glob(f"{AGENTS}/*/{AGENT_FILE}"))


def database_url(
    root: Path, configured: str | None, given: str | None, *, read_only: bool = False, trusted: bool = True
) -> str:
    """Where a project's sessions are: what was given, `$AGENTFLOW_DB`, what agentflow.yaml says, or a SQLite file.

    A project keeps the file in its folder; any other folder uses the one of the user, which is made unless it is only
    read. Raises `InvalidInput` for a file that cannot be one, and for a host that the agentflow.yaml of a project names
    that is not `trusted` nor worked in (Z4); `InvalidConfig` for a user without a folder.
    """
    if given is not None and not given.strip():
        raise InvalidInput("db: is blank; name a file or a URL, or leave it out.", detail={"field": "db"})
    wanted = given or os.environ.get("AGENTFLOW_DB")
    learn_url(wanted or "")
    if not wanted and configured is not None:
        if not (trusted or Path.cwd().is_relative_to(root)):
            _refuse_host(root, configured)
        wanted = configured
    if not wanted:
        wanted = str((root if _is_project(root) else _user_folder(read_only=read_only)) / "agentflow.db")
    return wanted if "://" in wanted else _file_url(wanted)


def _refuse_host(root: Path, url: str) -> None:
    """The driver would send the host a user, a password, or what the environment has for it."""
    if "://" in url and not url.startswith("sqlite:"):
        raise InvalidInput(
            f"db: {PROJECT_FILE} of {str(root)!r} has its sessions at {url!r}. Whoever only looks at a project from "
            "elsewhere asks no host, which might be sent values of this environment: run the command in that folder, "
            "or name the database with --db.",
            detail={"field": "db"},
        )


def _file_url(named: str) -> str:
    """The URL of a file by its path, in which no character has a second meaning."""
    if "?" in named:
        raise InvalidInput(
            f"db: {named!r} is a path, and a path has no '?'; options stand on a URL, as in "
            "sqlite:///sessions.db?synchronous=normal.",
            detail={"field": "db"},
        )
    try:
        path = Path(named).expanduser().resolve()
    except RuntimeError:
        raise InvalidInput(
            f"db: {named!r} begins with the home folder of a user who is not known here; write the path in full, or "
            f"'./{named}' for a file of this name.",
            detail={"field": "db"},
        ) from None
    return f"sqlite:///{quote(str(path))}"


def _is_project(root: Path) -> bool:
    return (root / AGENTS).is_dir() or (root / PROJECT_FILE).is_file()


def _user_folder(*, read_only: bool) -> Path:
    home = os.environ.get("XDG_DATA_HOME")
    try:
        folder = (Path(home) if home else Path.home() / ".local" / "share") / "agentflow"
        if not read_only:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (RuntimeError, OSError) as error:  # no home at all, or none that may be written
        raise InvalidConfig(
            f"Outside of a project sessions are kept in the user's home folder, which cannot be used: {error}. "
            "Name a database with --db or AGENTFLOW_DB, or a project with --project."
        ) from None
    return folder
