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


def read_material(config: AgentConfig, sub_agents: Sequence[tuple[str, str]] = ()) -> Material:
    """Read the files. Raises `InvalidConfig` with the place of the entry whose file is missing or unusable."""
    read, errors = _read_all(config)
    if errors:
        raise errors[0]
    skills = tuple(each for each in read if isinstance(each, Skill))
    references = tuple(each for each in read if isinstance(each, Reference))
    return Material(skills, references, tuple(sub_agents))


def material_errors(config: AgentConfig) -> list[InvalidConfig]:
    """What is wrong with the files, each with the place of its entry."""
    return _read_all(config)[1]


def material_files(config: AgentConfig) -> list[Path]:
    """The files that `read_material` reads."""
    files = [skill.file for skill in config.skills] + [reference.file for reference in config.references]
    return [config.folder / file for file in files]


def _read_all(config: AgentConfig) -> tuple[list[Skill | Reference], list[InvalidConfig]]:
    read: list[Skill | Reference] = []
    errors: list[InvalidConfig] = []
    entries = [("skills", index, _skill) for index in range(len(config.skills))]
    entries += [("references", index, _reference) for index in range(len(config.references))]
    names = set[tuple[str, str]]()
    for kind, index, make in entries:
        try:
            read.append(make(config, index))
            if (kind, read[-1].name) in names:
                raise config.invalid((kind, index), f"there are two {kind} called {read[-1].name!r}")
            names.add((kind, read[-1].name))
        except InvalidConfig as error:
            errors.append(error)
    return read, errors


def _skill(config: AgentConfig, index: int) -> Skill | Reference:
    entry, key = config.skills[index], ("skills", index)
    text = _read(config, key, entry.file)
    try:
        name, description, body = _parsed(text, entry.file)
    except InvalidConfig as error:
        raise config.invalid(key, error.message) from error
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


def _read(config: AgentConfig, key: tuple[str | int, ...], file: str) -> str:
    """A regular file of the project, links resolved, read with a limit; never a device or a pipe (Z2)."""
    path = config.folder / file
    try:
        found = path.resolve(strict=True)
        if not any(found.is_relative_to(root) for root in (project_root(config.path), config.folder.resolve())):
            raise config.invalid(key, f"{file} lies outside of the project; copy it into the project's folder")
        if not found.is_file():
            raise config.invalid(key, f"{file} is not a regular file")
        with found.open("rb") as stream:
            content = stream.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            raise config.invalid(key, f"{file} has more than {MAX_BYTES} bytes")
        return sanitise(content.decode("utf-8-sig").replace("\r\n", "\n"))
    except FileNotFoundError:
        raise config.invalid(key, f"there is no file {path}") from None
    except (OSError, UnicodeDecodeError, RuntimeError) as error:  # RuntimeError: a link that leads to itself
        raise config.invalid(key, f"{file} cannot be read: {error}") from error


Readable = TypeVar("Readable", Skill, Reference)


def named(readable: Sequence[Readable], name: str) -> Readable | None:
    """The skill or reference of this name."""
    return next((each for each in readable if each.name == name), None)
