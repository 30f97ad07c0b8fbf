"""`llm://NAME`: how keys name an interface, and which of these names lead nowhere."""

from __future__ import annotations

from collections.abc import Mapping

from agentflow.config.document.problems import did_you_mean

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


def interface_name(reference: str) -> str:
    """The name in `NAME` or `llm://NAME`."""
    return reference.removeprefix(REFERENCE)
