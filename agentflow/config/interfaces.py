"""What an interface stands for: another one (`llm://NAME`) with keys of its own on top, and its fallbacks (W5)."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from agentflow.config.keys.references import REFERENCE, SCRIPTED

if TYPE_CHECKING:
    from agentflow.config.keys.agent import Interface

_OF_ANY_PROVIDER = ("temperature", "top_p", "max_output_tokens", "timeout_secs")


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

    def from_there(model: str) -> str:
        if not model.startswith(SCRIPTED):
            return model
        script = source.resolve() / model.removeprefix(SCRIPTED)
        return SCRIPTED + posixpath.relpath(script.as_posix(), target.resolve().as_posix())

    models = {"model": from_there(interface.model), "fallback": tuple(map(from_there, interface.fallback))}
    return interface.model_copy(update={key: value for key, value in models.items() if value})


def called(interface: Interface, model: str) -> Interface:
    """The interface for another model; what only the first one's provider understands, its key too, is left out."""
    if model.partition("/")[0] == interface.model.partition("/")[0]:
        return interface.model_copy(update={"model": model})
    return type(interface)(model=model, **{key: getattr(interface, key) for key in _OF_ANY_PROVIDER})


def fallbacks(known: Mapping[str, Interface], name: str) -> Iterator[Interface]:
    """The interfaces asked after `name` fails, in order; `known` are resolved, unknown names are left out (W5)."""
    for each in known[name].fallback:
        if not each.startswith(REFERENCE):
            yield called(known[name], each)
        elif each.removeprefix(REFERENCE) in known:
            yield known[each.removeprefix(REFERENCE)]
