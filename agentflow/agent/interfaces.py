"""`llm://NAME`: an interface that stands for another one, with keys of its own on top."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from agentflow.agent.problems import did_you_mean

if TYPE_CHECKING:
    from agentflow.agent.agent_keys import Interface

MAIN = "main"
REFERENCE = "llm://"
SCRIPTED = "scripted/"


def broken_reference(known: Mapping[str, str], model: str, start: str) -> str | None:
    """Why the model string of the interface `start` leads nowhere: the name it gives is unknown, or itself again.

    `known` are the model strings by name. What is wrong further along is for the interface that says it.
    """
    if not model.startswith(REFERENCE):
        return None
    name = model.removeprefix(REFERENCE)
    if name != start and name not in known:
        there_are = f"; there are {', '.join(known)}" if known else "; there are none"
        return f"there is no interface {name!r}{did_you_mean(name, list(known)) or there_are}"
    seen: list[str] = [start]
    while name not in seen:
        seen.append(name)
        following = known.get(name, "")
        if not following.startswith(REFERENCE):
            return None
        name = following.removeprefix(REFERENCE)
    return f"leads back to itself: {' -> '.join([*seen, name])}" if name == start else None


def resolved(known: Mapping[str, Interface], name: str) -> Interface:
    """The interface with its reference followed: the keys it gives itself over those of the one it names."""
    interface = known[name]
    if not interface.model.startswith(REFERENCE):
        return interface
    base = resolved(known, interface.model.removeprefix(REFERENCE))
    own = {key: getattr(interface, key) for key in interface.model_fields_set if key != "model"}
    return base.model_copy(update=own)


def moved(interface: Interface, source: Path, target: Path) -> Interface:
    """An interface declared in folder `source` for use from folder `target`: a script keeps meaning the same file."""
    if not interface.model.startswith(SCRIPTED):
        return interface
    script = source.resolve() / interface.model.removeprefix(SCRIPTED)
    relative = posixpath.relpath(script.as_posix(), target.resolve().as_posix())
    return interface.model_copy(update={"model": SCRIPTED + relative})
