"""A project on disk: its agentflow.yaml, its agents, and the agents we ship."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from agentflow.config.agent_config import AgentConfig, load_agent, read_agent
from agentflow.config.document import yamlfile
from agentflow.config.document.problems import Problem, did_you_mean
from agentflow.config.keys.agent import AGENT_NAME
from agentflow.config.keys.checking import validate
from agentflow.config.keys.project import ProjectKeys
from agentflow.config.places import AGENT_FILE, AGENTS, PROJECT_FILE, agent_folders, agent_names
from agentflow.conversation.wire import MAX_ID
from agentflow.errors import AgentNotFound
from agentflow.text import preview, sanitise

NAME = re.compile(AGENT_NAME)
_SQLITE = "sqlite:///"


def project_root(agent_file: Path) -> Path:
    """The project an agent.yaml belongs to.

    That is the nearest folder above it that has an agentflow.yaml, or the one whose `agents/` it is in; else its own.
    """
    folder = agent_file.resolve().parent
    for above in (folder, *folder.parents):
        if (above / PROJECT_FILE).is_file() or above / AGENTS == folder.parent:
            return above
    return folder


def find_agent(root: Path, agent: str) -> Path:
    """The agent.yaml that `agent` names: a name in the project, then among the shipped; or the path of a file or
    folder, from the project's folder or the working directory.

    Raises `AgentNotFound`, which lists what there is.
    """
    for path in agent_files(root, agent):
        if os.path.isfile(path):  # false, where Path.is_file raises, for a name no file can have
            return path
    raise _not_found(root, agent)


def _not_found(root: Path, agent: str) -> AgentNotFound:
    names, shown = agent_names(root), preview(sanitise(agent), MAX_ID)
    hint = did_you_mean(Path(shown).name, names) or "."
    known = f"There are {', '.join(names)}." if names else "There are none yet."
    where = f"in {root.resolve()} or among the shipped ones"
    return AgentNotFound(f"There is no agent {shown!r} {where}{hint} {known}", detail={"agent": shown, "agents": names})


def find_named(root: Path, name: str) -> Path:
    """The agent.yaml of this name among the project's agents, then the shipped ones; what a client or a row may say.

    Nothing is opened, and what is no name is looked for nowhere: only authors choose files (Z2). A link that leads out
    of its folder of agents finds nothing either. Raises `AgentNotFound`, as `find_agent` does.
    """
    if NAME.fullmatch(name):
        for folder in agent_folders(root):
            if is_file_in(folder, folder / name / AGENT_FILE):
                return folder / name / AGENT_FILE
    raise _not_found(root, name)


def is_file_in(folder: Path, path: Path) -> bool:
    """Whether there is a regular file at `path`, in `folder` also when links are followed."""
    return os.path.isfile(path) and path.resolve().is_relative_to(folder.resolve())


def find_home(project: str | Path, agent: str | Path) -> tuple[Path, Path]:
    """The file of an agent and the folder of its project: the one given, unless the file lies outside of it.

    Raises `AgentNotFound`.
    """
    return home_of(project, find_agent(Path(project).resolve(), str(agent)))


def home_of(project: str | Path, file: Path) -> tuple[Path, Path]:
    """The same for a file that need not be there."""
    root = Path(project).resolve()
    return file, root if file.is_relative_to(root) else project_root(file)


def sub_agent_reference(config: AgentConfig, listed: str) -> str:
    """How a sub-agent is found: a name stays one, a relative path starts at the folder of the file it stands in."""
    return listed if NAME.fullmatch(listed) else str(config.folder / listed)


def agent_files(root: Path, agent: str) -> Iterator[Path]:
    """The files that `agent` may name, best first."""
    if NAME.fullmatch(agent):
        for folder in agent_folders(root):
            yield folder / agent / AGENT_FILE
    for start in (root, Path.cwd()):
        yield start / agent
        yield start / agent / AGENT_FILE


def shown(path: Path) -> str:
    """A path for messages: relative to the working directory when it is below it."""
    absolute, here = Path(os.path.abspath(path)), Path.cwd()
    return str(absolute.relative_to(here)) if absolute.is_relative_to(here) else str(absolute)


@dataclass(frozen=True)
class Project:
    """A project's folder and the keys of its agentflow.yaml, or their defaults."""

    root: Path
    keys: ProjectKeys

    @property
    def db(self) -> str | None:
        """The database URL; a relative SQLite file starts at the project's folder."""
        url = self.keys.db
        if url is None or not url.startswith(_SQLITE):
            return url
        file = url.removeprefix(_SQLITE)
        return url if file in ("", ":memory:") or file.startswith("file:") else f"{_SQLITE}{self.root / file}"

    def load(self, path: Path, variables: Mapping[str, str]) -> AgentConfig:
        """The agent of a file with the project's interfaces. Raises `InvalidConfig`."""
        shared = self.keys.interfaces
        return load_agent(path, name=shown(path), variables=variables, shared=shared, shared_from=self.root)

    def read(
        self, path: Path, variables: Mapping[str, str], text: bytes | str | None = None
    ) -> tuple[AgentConfig, list[Problem]]:
        """The same with all that is wrong, and a configuration of what could be read in spite of it; `text` stands in
        place of the file's.
        """
        shared = self.keys.interfaces
        return read_agent(path, name=shown(path), variables=variables, shared=shared, shared_from=self.root, text=text)


def open_project(root: Path, *, variables: Mapping[str, str] | None = None) -> Project:
    """Read a project's agentflow.yaml, if it has one. Raises `InvalidConfig`."""
    root, file = root.resolve(), root / PROJECT_FILE
    if not file.is_file():
        return Project(root, ProjectKeys())
    document = yamlfile.read(file, name=shown(file), variables=os.environ if variables is None else variables)
    if document.data is None:
        document.data = {}
    return Project(root, validate(document, ProjectKeys))
