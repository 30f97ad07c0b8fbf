"""What moves a path or settles what is open on it beside a claim: frozen values in, frozen values out."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentflow.clock import Instant, NewId
from agentflow.conversation.tree import Place
from agentflow.events import LogEntry
from agentflow.message import Message

if TYPE_CHECKING:
    from agentflow.store.protocol import Alive, Moves


@dataclass(frozen=True, slots=True)
class MoveHead:
    """Move a session's head to a message, which may be named by an alias (C2)."""

    session_id: str
    message_id: str
    at: Instant
    alive: Alive
    new_id: NewId
    moves: Moves


@dataclass(frozen=True, slots=True)
class Moved:
    """Where the head stands; `moved` is false when it stood there already. `after_seq` is what the log had before."""

    head_id: str
    moved: bool
    after_seq: int


@dataclass(frozen=True, slots=True)
class Settle:
    """Give a call that was left open its result (C33). `tools` are the names of the worker tools, by agent."""

    session_id: str
    call_id: str
    ok: bool
    text: str
    tools: Mapping[str, Collection[str]]


@dataclass(frozen=True, slots=True)
class Settled:
    """`taken` is false for a late result, which is ignored (C20)."""

    turn_id: str
    taken: bool


@dataclass(frozen=True, slots=True)
class MergeView:
    """Merge a worker's view of the conversation in a running turn (C33)."""

    session_key: int
    epoch: int
    turn: int
    execution: int
    at: Instant
    messages: Sequence[Message]
    new_id: NewId


@dataclass(frozen=True, slots=True)
class Merged:
    """Where the path ends after it; `written` are the new nodes, copies and completed results included.

    `forks`, `seq` and `log` are as in `Claimed`.
    """

    head: Place | None
    head_id: str | None
    written: tuple[Message, ...]
    branches: int
    forks: bool
    seq: int
    log: tuple[LogEntry, ...]


@dataclass(frozen=True, slots=True)
class Versions:
    """The agent's state and the changes of its configuration in force on a path; `last` numbers the newest version."""

    state: Any
    agent: dict[str, Any]
    last: int
