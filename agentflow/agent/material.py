"""What an agent may read besides its prompt: skills and references, from files beside its agent.yaml (A1).

A skill is a markdown file with front matter (`name`, `description`); the prompt lists it and `read_skill` hands out
its body, unless it is inline, then the body stands in the prompt. A reference is any text file, listed likewise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from agentflow.agent import yamlfile
from agentflow.errors import InvalidConfig
from agentflow.text import sanitise

if TYPE_CHECKING:
    from agentflow.agent.config import AgentConfig

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
    skills = tuple(_skills(config))
    references = tuple(
        Reference(entry.name, entry.description, _read(config, ("references", index, "file"), entry.file))
        for index, entry in enumerate(config.references)
    )
    _refuse_twice(config, "skills", [skill.name for skill in skills])
    return Material(skills, references, tuple(sub_agents))


def material_files(config: AgentConfig) -> list[Path]:
    """The files that `read_material` reads."""
    files = [skill.file for skill in config.skills] + [reference.file for reference in config.references]
    return [config.folder / file for file in files]


def _skills(config: AgentConfig) -> Iterator[Skill]:
    for index, entry in enumerate(config.skills):
        key = ("skills", index)
        text = _read(config, key, entry.file)
        try:
            name, description, body = _parsed(text, entry.file)
        except InvalidConfig as error:
            raise config.invalid(key, error.message) from error
        yield Skill(name, description, body, entry.inline)


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
    path = config.folder / file
    try:
        if path.stat().st_size > MAX_BYTES:
            raise config.invalid(key, f"{file} has more than {MAX_BYTES} bytes")
        return sanitise(path.read_text("utf-8-sig"))
    except FileNotFoundError:
        raise config.invalid(key, f"there is no file {path}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise config.invalid(key, f"{file} cannot be read: {error}") from error


def _refuse_twice(config: AgentConfig, key: str, names: Sequence[str]) -> None:
    for index, name in enumerate(names):
        if name in names[:index]:
            raise config.invalid((key, index), f"there are two {key} called {name!r}")


Readable = TypeVar("Readable", Skill, Reference)


def named(readable: Sequence[Readable], name: str) -> Readable | None:
    """The skill or reference of this name."""
    return next((each for each in readable if each.name == name), None)
