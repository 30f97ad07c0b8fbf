"""An interface that stands for another one (`llm://NAME`), with keys of its own on top."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from agentflow.config.keys.references import REFERENCE, SCRIPTED

if TYPE_CHECKING:
    from agentflow.config.keys.agent import Interface


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
