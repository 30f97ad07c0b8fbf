"""Versions of the agent's state and of what a worker changed of its configuration, read along the path (C6, C30)."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from agentflow.conversation.state import Version, state_at
from agentflow.conversation.tree import Branch, Path, Place
from agentflow.store.records import AGENT, STATE, Versions
from agentflow.store.sql.transaction import Tx

_ALL = "SELECT number, kind, value, branch, depth FROM state_version WHERE session_key = ? ORDER BY number"
_BRANCHES = "SELECT number, parent, fork_depth FROM branch WHERE session_key = ?"


def versions_at(tx: Tx, key: int, head: Place | None) -> Versions:
    """What is in force on the path that ends in `head`."""
    found = tx.all(_ALL, key)
    if not found:
        return Versions(None, {}, 0)
    branches = {number: Branch(number, parent, fork) for number, parent, fork in tx.all(_BRANCHES, key)}
    path = Path.to(branches, head)
    return Versions(_in_force(path, found, STATE), _in_force(path, found, AGENT) or {}, found[-1][0])


def _in_force(path: Path, found: Iterable[tuple[Any, ...]], wanted: str) -> Any:
    return state_at(
        path,
        [
            Version(json.loads(value), None if branch is None else Place(branch, depth))
            for _, kind, value, branch, depth in found
            if kind == wanted
        ],
    )
