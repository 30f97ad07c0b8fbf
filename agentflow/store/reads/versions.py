"""Versions of the agent's state and of what a worker changed of its configuration, read along the path (C6, C30)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from agentflow.conversation.state import Version, state_at
from agentflow.conversation.tree import Branch, Path, Place
from agentflow.store.records import AGENT, STARTED, STATE, Versions
from agentflow.store.sql.transaction import Tx
from agentflow.text import stored_json

_ALL = "SELECT number, kind, value, branch, depth FROM state_version WHERE session_key = ? ORDER BY number"
_BRANCHES = "SELECT number, parent, fork_depth FROM branch WHERE session_key = ?"


def versions_at(tx: Tx, key: int, head: Place | None, *, of_session: bool) -> Versions:
    """What is in force on the path that ends in `head`, which is the session's own or that of a sub-agent's run.

    What stands above every root is the session's (C30).
    """
    found = tx.all(_ALL, key)
    if not found:
        return Versions(None, {}, 0)
    last = found[-1][0]
    found = found if of_session else [row for row in found if row[3] is not None]
    branches = {number: Branch(number, parent, fork) for number, parent, fork in tx.all(_BRANCHES, key)}
    path = Path.to(branches, head)
    started = any(kind == STARTED for _, kind, *_ in found)
    return Versions(_in_force(path, found, STATE), _in_force(path, found, AGENT) or {}, last, started)


def _in_force(path: Path, found: Iterable[tuple[Any, ...]], wanted: str) -> Any:
    return state_at(
        path,
        [
            Version(stored_json(value), None if branch is None else Place(branch, depth))
            for _, kind, value, branch, depth in found
            if kind == wanted
        ],
    )
