"""Agent state: any JSON, versioned, read along the path (C30)."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from agentflow.conversation.tree import Path, Place, newest_on


@dataclass(frozen=True, slots=True)
class Version:
    """One write of the state, anchored at the head after its decision's messages; null on an empty tree."""

    value: Any
    anchor: Place | None


def state_at(path: Path, versions: Iterable[Version]) -> Any:
    """The state in force on the path; `versions` in write order. Null when none was written (C30)."""
    version = newest_on(path, versions)
    return None if version is None else version.value


def next_version(current: Any, proposed: Any, head: Place | None) -> Version | None:
    """The version to write for a decision's `state`: none for null (keeps) or an equal value; `{}` clears (C30)."""
    if proposed is None or same_json(current, proposed):
        return None
    return Version(proposed, head)


def same_json(a: Any, b: Any) -> bool:
    """JSON equality: the order of keys does not matter, `true`, `1` and `1.0` are three values (C30)."""
    return _canonical(a) == _canonical(b)


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))
