"""What the store gives back: frozen values, read from rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from agentflow.clock import Instant
from agentflow.conversation.pauses.awaited import Awaited, AwaitedCall
from agentflow.conversation.tree import Place
from agentflow.message import Message, Usage
from agentflow.store.requests import ListSessions

STATE, AGENT, STARTED = "state", "agent", "started"
"""The kinds of version along the path: the agent's state, the changes of its configuration, and that `session.start`
has been answered (C30, C32, C33).
"""


@dataclass(frozen=True, slots=True)
class Versions:
    """The agent's state and the changes of its configuration in force on a path; `last` numbers the newest version.

    `started`: `session.start` has been answered.
    """

    state: Any
    agent: dict[str, Any]
    last: int
    started: bool = False


@dataclass(frozen=True, slots=True)
class PathEntry:
    """A message on the active path with the number of the turn that wrote it; a copy names its original (X18)."""

    message: Message
    turn: int
    place: Place
    copied_from: str | None = None


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """The session's row as a reader sees it; `running_turn` is the id of the turn that claims it, dead or alive."""

    key: int
    id: str
    agent: str
    name: str | None
    environment: str
    created_at: Instant
    updated_at: Instant
    head: Place | None
    seq: int
    epoch: int
    running_turn: str | None
    owner: str | None
    lease_until: Instant | None
    turns: int
    steps: int
    ended_at: Instant | None
    outcome: str | None
    queued: int = 0
    belongs_to: str | None = None
    head_id: str | None = None
    pending: PendingPause | None = None


@dataclass(frozen=True, slots=True)
class Listed:
    """A page of sessions; `more` follow it, which `following` asks for, null when none do."""

    sessions: Sequence[SessionRecord]
    more: int
    following: ListSessions | None


@dataclass(frozen=True, slots=True)
class CallLeftOpen:
    """A call whose result comes from outside: `handler` is who performs it, a worker or the client (C32, C37)."""

    call: AwaitedCall
    handler: str


@dataclass(frozen=True, slots=True)
class PendingPause:
    """What a turn waits for, and until when at most."""

    turn_id: str
    awaited: Awaited
    expires_at: Instant | None

    def is_over(self, at: Instant) -> bool:
        """Whether its time has come; the next request ends the turn then, and reads tell it at once (T21)."""
        return self.expires_at is not None and self.expires_at <= at


@dataclass(frozen=True, slots=True)
class StepRecord:
    """One step with its turn, all a `TurnResult` needs. `answer` is the text the user saw, null when there was none.

    `pause` is what a paused turn waits for, in its last step. Only `Store.step` looks up `done_seq`, the number of the
    turn's last `done` so far, and `is_cut`: the step's last reply was cut at the output limit.
    """

    number: int
    turn: int
    turn_id: str
    turn_state: str
    state: str
    opened_at: Instant
    completed_at: Instant | None
    first_token_ms: int | None
    user_message_id: str | None
    answer: str | None
    usage: Usage
    limit: str | None
    error: dict[str, Any] | None
    answer_id: str | None = None
    done_seq: int | None = None
    pause: PendingPause | None = None
    is_cut: bool = False
    data: Any = None


@dataclass(frozen=True, slots=True)
class NodeRecord:
    """A node of the tree as `tree` returns it."""

    message: Message
    parent_id: str | None
    copied_from: str | None
    turn_id: str | None


@dataclass(frozen=True, slots=True)
class Tree:
    """`compactions` are what `context.replaced` told of the session's own tree, in order, with `summary_id` (X21)."""

    head_id: str | None
    nodes: tuple[NodeRecord, ...] = field(default=())
    compactions: tuple[dict[str, Any], ...] = ()


Record = dict[str, Any]
"""A row by column."""


@dataclass(frozen=True, slots=True)
class TodoRecord:
    """One version of an execution's todo list; `items` are `{content, status}`."""

    turn: int
    execution: int
    number: int
    items: Sequence[dict[str, str]]


@dataclass(frozen=True, slots=True)
class Planned:
    """What a run has planned so far. `begun`: it has made a main call, so that its planning is over."""

    plan: str | None
    begun: bool
    todos: TodoRecord | None


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One execution; `parent_call_id` is the call of the parent's run that began it."""

    number: int
    agent: str
    status: str
    parent: int | None
    parent_call_id: str | None


@dataclass(frozen=True, slots=True)
class TurnRows:
    """The rows of one turn by column. `log` has `seq, at, type, ref, data`, `messages` are those it recorded, by id,
    `naming` the calls for the session's name that followed it.
    """

    turn: Record
    steps: Sequence[Record]
    executions: Sequence[Record]
    llm_calls: Sequence[Record]
    tool_calls: Sequence[Record]
    questions: Sequence[Record]
    todo_lists: Sequence[Record]
    hook_runs: Sequence[Record]
    log: Sequence[Record]
    messages: dict[str, Any]
    naming: Sequence[Record] = ()


class SnapshotRecord(NamedTuple):
    """Data that a flow loaded in a turn, without the data; `hash` is null where `problem` says why it is not kept."""

    step: int
    turn_id: str
    entity: str
    entity_key: str
    hash: str | None
    chars: int
    problem: str | None
    at: Instant


class Damage(NamedTuple):
    """A row's column that is not what it must be; `row` has the columns that name the row, the session's id first."""

    table: str
    column: str
    row: dict[str, Any]
    wanted: str

    def __str__(self) -> str:
        row = ", ".join(f"{name} {value!r}" for name, value in self.row.items())
        return f"{self.table}.{self.column} of the row with {row} must {self.wanted}"
