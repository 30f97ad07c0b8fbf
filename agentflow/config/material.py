"""What an agent may read besides its prompt: skills and references, from files beside its agent.yaml (A1).

A skill is a markdown file with front matter (`name`, `description`); the prompt lists it and `read_skill` hands out
its body, unless it is inline, then the body stands in the prompt. A reference is any text file, listed likewise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from agentflow.config.document import yamlfile
from agentflow.config.document.codes import Code
from agentflow.config.document.problems import Path as KeyPath
from agentflow.config.document.problems import Problem
from agentflow.config.project import project_root
from agentflow.errors import InvalidConfig
from agentflow.text import sanitise

if TYPE_CHECKING:
    from agentflow.config.agent_config import AgentConfig

MAX_BYTES = 1_000_000

_FENCE = "---"


@dataclass(frozen=True, slots=True)
class Skill:
    name: str
    description: str
    body: str
    inline: bool = False


@dataclass(frozen=True, slots=True)
class Reference:
    name: str
    description: str
    text: str


@dataclass(frozen=True, slots=True)
class Material:
    """Everything an agent's files give it to read, in the order of its agent.yaml.

    `sub_agents` are `(name, description)` of the agents it may call.
    """

    skills: tuple[Skill, ...] = ()
    references: tuple[Reference, ...] = ()
    sub_agents: tuple[tuple[str, str], ...] = ()


NO_MATERIAL = Material()


def read_material(config: AgentConfig, sub_agents: Sequence[tuple[str, str]] = ()) -> tuple[Material, list[Problem]]:
    """Read the files: what could be read, and a problem of the entry of each file that is missing or unusable."""
    read, problems = _read_all(config)
    skills = tuple(each for each in read if isinstance(each, Skill))
    references = tuple(each for each in read if isinstance(each, Reference))
    return Material(skills, references, tuple(sub_agents)), problems


def material_files(config: AgentConfig) -> list[Path]:
    """The files that `read_material` reads."""
    files = [skill.file for skill in config.skills] + [reference.file for reference in config.references]
    return [config.folder / file for file in files]


def _read_all(config: AgentConfig) -> tuple[list[Skill | Reference], list[Problem]]:
    read: list[Skill | Reference] = []
    problems: list[Problem] = []
    entries = [("skills", index, _skill) for index, entry in enumerate(config.skills) if entry is not None]
    entries += [("references", index, _reference) for index, entry in enumerate(config.references) if entry is not None]
    names = set[tuple[str, str]]()
    for kind, index, make in entries:
        try:
            found = make(config, index)
        except _Unusable as error:
            problems.append(config.problem(error.key, error.code, str(error)))
            continue
        if (kind, found.name) in names:
            problems.append(
                config.problem((kind, index), Code.NAMED_TWICE, f"there are two {kind} called {found.name!r}")
            )
        names.add((kind, found.name))
        read.append(found)
    return read, problems


class _Unusable(ValueError):
    """Why the file of the entry at `key` cannot be used."""

    def __init__(self, key: KeyPath, message: str, code: Code = Code.MATERIAL) -> None:
        super().__init__(message)
        self.key, self.code = key, code


def _skill(config: AgentConfig, index: int) -> Skill | Reference:
    entry, key = config.skills[index], ("skills", index)
    text = _read(config, key, entry.file)
    try:
        name, description, body = _parsed(text, entry.file)
    except InvalidConfig as error:
        raise _Unusable(key, error.message, Code.FRONT_MATTER) from error
    return Skill(name, description, body, entry.inline)


def _reference(config: AgentConfig, index: int) -> Skill | Reference:
    entry = config.references[index]
    return Reference(entry.name, entry.description, _read(config, ("references", index, "file"), entry.file))


def _parsed(text: str, file: str) -> tuple[str, str, str]:
    lines = text.splitlines()
    end = next((number for number, line in enumerate(lines[1:], 1) if line.rstrip() == _FENCE), None)
    if not lines or lines[0].rstrip() != _FENCE or end is None:
        raise InvalidConfig(f"{file} has no front matter: begin it with ---, name, description, ---")
    front = yamlfile.parse("\n".join(["", *lines[1:end]]), file).checked()
    if not isinstance(front, dict):
        raise InvalidConfig(f"{file}: the front matter must be a mapping with name and description")
    for key in ("name", "description"):
        if not isinstance(front.get(key), str) or not front[key].strip():
            raise InvalidConfig(f"{file}: the front matter needs a {key} that is a text")
    return front["name"].strip(), " ".join(front["description"].split()), "\n".join(lines[end + 1 :]).strip()


def _read(config: AgentConfig, key: KeyPath, file: str) -> str:
    """A regular file of the project, links resolved, read with a limit; never a device or a pipe (Z2)."""
    path = config.folder / file
    try:
        found = path.resolve(strict=True)
        if not any(found.is_relative_to(root) for root in (project_root(config.path), config.folder.resolve())):
            raise _Unusable(key, f"{file} lies outside of the project; copy it into the project's folder")
        if not found.is_file():
            raise _Unusable(key, f"{file} is not a regular file")
        with found.open("rb") as stream:
            content = stream.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            raise _Unusable(key, f"{file} has more than {MAX_BYTES} bytes")
        return sanitise(content.decode("utf-8-sig").replace("\r\n", "\n"))
    except FileNotFoundError:
        raise _Unusable(key, f"there is no file {path}") from None
    except (OSError, UnicodeDecodeError, RuntimeError) as error:  # RuntimeError: a link that leads to itself
        raise _Unusable(key, f"{file} cannot be read: {error}") from error


Readable = TypeVar("Readable", Skill, Reference)


def named(readable: Sequence[Readable], name: str) -> Readable | None:
    """The skill or reference of this name."""
    return next((each for each in readable if each.name == name), None)
