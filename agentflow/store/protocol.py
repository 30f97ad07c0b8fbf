"""The Store protocol: claim, append, end, read. Frozen values in, frozen values out.

Every write is one job on the writer's thread and one transaction (or one savepoint of a shared one, R2). A write
of a turn names the session's `key` and `epoch`; when the epoch is not the session's any more the job is refused
with `StaleOwner` and writes nothing (C35).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from agentflow.clock import Instant, NewId
from agentflow.context.tokens import Report
from agentflow.conversation.inbox import Input
from agentflow.conversation.questions import Question
from agentflow.conversation.tree import Place
from agentflow.events import Event, LogEntry
from agentflow.message import Message, TurnState, Usage
from agentflow.store.path_protocol import Merged, MergeView, Moved, MoveHead, Settle, Settled, Versions
from agentflow.store.rows import Row
from agentflow.store.turn_records import Planned, RunRecord, TodoRecord, TurnRows

Move = tuple[TurnState, TurnState]
"""A trigger of the machine as the states `(from, to)` of its conditional update; the table itself is the turn's."""

Alive = Callable[[str, Instant, str], bool]
"""`(owner, lease_until, turn_id) -> bool`: is the process that claimed this turn still running it (T27)."""


@dataclass(frozen=True, slots=True)
class Moves:
    """The machine's moves that the store makes by itself (T2)."""

    begin: Move
    answer: Move
    repair: Move
    stop_paused: Move


@dataclass(frozen=True, slots=True)
class Owning:
    """Who claims, and what a turn that starts by it runs with.

    `config` is `(hash, JSON text)` of the configuration in force (A7). `call_model` is the model of the first call,
    recorded as requested in the same commit (T11), or null when something comes before it. `check_inputs` validates
    the agent inputs of a request that starts or queues a turn; `planning`: the agent keeps todos (T32).
    """

    agent: str
    config: tuple[str, str]
    call_model: str | None
    owner: str
    lease_until: Instant
    at: Instant
    alive: Alive
    new_id: NewId
    moves: Moves
    check_inputs: Callable[[Mapping[str, Any]], dict[str, Any]]
    planning: bool = False


@dataclass(frozen=True, slots=True)
class Claim:
    """One request for a session (T4); pure apart from the rows it reads, so it can be run again.

    `turn_id_given` is false when the id was minted here.
    """

    session_id: str
    input: Input
    turn_id: str
    turn_id_given: bool
    owning: Owning
    environment: str = "production"


@dataclass(frozen=True, slots=True)
class Claimed:
    """A turn is running and ours. `head` is where the path ends now, `previous_head` where it ended before.

    `inputs` and `client` are the request's (C8), `messages` what was recorded of it, with ids. `usage` is what the
    turn has spent in earlier steps, when `resumed` by the answer to a question, which execution number `asking` had
    asked; `worked` is how long those steps took. `forks`: something follows the head on its branch already, so the
    next message opens a branch. `answer` is there when the path ends in it already (C13). `delivered` is a view with
    its ids given, `new_from` where its news begin (C12). `call_id` names the first model call when the claim recorded
    it. `previous_ended_at`: when the session was last at work, null on a first turn and when `resumed` (X11). `log`
    holds the turn's entries of this commit, the last of which has the sequence number `seq`; `before` those written
    just before for a turn that ended by it, with that turn's id (T30).
    """

    key: int
    epoch: int
    turn: int
    turn_id: str
    step: int
    execution: int
    previous_head: Place | None
    head: Place | None
    head_id: str | None
    branches: int
    executions: int
    inputs: Mapping[str, Any]
    client: Mapping[str, Any]
    messages: tuple[Message, ...]
    call_id: str | None
    seq: int
    log: tuple[LogEntry, ...]
    before: tuple[tuple[str, tuple[LogEntry, ...]], ...] = ()
    resumed: bool = False
    asking: int = 0
    worked: Instant = 0
    forks: bool = False
    answer: Message | None = None
    delivered: tuple[Message, ...] = ()
    new_from: int = 0
    usage: Usage = field(default_factory=Usage)
    previous_ended_at: Instant | None = None


@dataclass(frozen=True, slots=True)
class Replayed:
    """The request was made before, or asks for nothing: that turn answers, nothing runs (C19, C27)."""

    turn_id: str
    after_seq: int


@dataclass(frozen=True, slots=True)
class Queued:
    """The request waits as turn `turn_id`; `started` is the first of the queue, when that could start (C21).

    `replayed`: it waited already (C19). `stopping` names the running turn that was asked to stop for it (C25).
    """

    turn_id: str
    after_seq: int
    started: Claimed | None = None
    replayed: bool = False
    stopping: str | None = None


@dataclass(frozen=True, slots=True)
class Stop:
    """End a session's turn from outside: the running one, or the one that is paused on the active path (T23, T25).

    With `turn_id` only that turn; `drain` empties the queue too (C24).
    """

    session_id: str
    turn_id: str | None
    drain: bool
    at: Instant
    alive: Alive
    new_id: NewId
    moves: Moves


@dataclass(frozen=True, slots=True)
class Stopped:
    """`requested`: a live turn was asked; `ended`: a dead or paused turn was closed here; else there was nothing.

    `drained` are the turn ids taken out of the queue.
    """

    turn_id: str | None
    requested: bool = False
    ended: bool = False
    drained: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Append:
    """One commit of a running turn: rows, log entries, and where the path ends after it."""

    session_key: int
    epoch: int
    turn: int
    at: Instant
    head: Place | None
    executions: int
    branches: int
    rows: Sequence[Row]
    log: Sequence[LogEntry]


@dataclass(frozen=True, slots=True)
class Appended:
    """`seq` is the number of the last entry, `stop_turn` the turn somebody asked to stop (T23), `started` the queued
    turn that began when this one ended.
    """

    seq: int
    stop_turn: str | None
    started: Claimed | None = None


@dataclass(frozen=True, slots=True)
class End:
    """The last commit of a turn's step: `append` and the release of the session in one transaction (T10).

    `state` is the turn's state and becomes the session's outcome. `erase` removes what `observability: false`
    does not keep (R5). With `owning` the first entry of the queue starts in the same transaction, unless the
    active path waits for an answer (C21); a runtime that closes gives none and leaves the queue as it is.
    """

    append: Append
    state: str
    erase: bool = False
    owning: Callable[[], Owning] | None = None


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
    pending: PendingQuestion | None = None


@dataclass(frozen=True, slots=True)
class PendingQuestion:
    """What the active path waits for, and until when at most."""

    turn_id: str
    call_id: str
    questions: tuple[Question, ...]
    expires_at: Instant | None


@dataclass(frozen=True, slots=True)
class StepRecord:
    """One step with its turn, all a `TurnResult` needs. `answer` is the text the user saw, null when there was none.

    `done_seq` is the number of the turn's last `done` so far; only `Store.step` looks it up.
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
    done_seq: int | None = None


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


class Store(Protocol):
    """What the engine asks of a database. All methods are coroutines with one hop to a thread of the store's own.

    Contract: they raise `AgentflowError`s only (driver errors are wrapped in `StoreError`, cause kept) and, once a
    commit is answered, what it wrote survives the process.
    """

    async def claim(self, request: Claim) -> Claimed | Replayed | Queued: ...

    async def stop(self, request: Stop) -> Stopped: ...

    async def move_head(self, request: MoveHead) -> Moved: ...

    async def left_queues(self) -> list[tuple[str, str]]:
        """`(session id, agent)` of the sessions in which turns wait (C21)."""

    async def take_up(self, session_id: str, owning: Owning, turn_id: str | None = None) -> Claimed | None:
        """Start the first turn that waits, or only this one, when nothing runs and no question is open (C21)."""

    async def settle(self, request: Settle) -> Settled: ...

    async def settlement(self, key: int, execution: int, call_id: str) -> tuple[bool, str] | None:
        """`(ok, text)` of a call that was settled from outside and is not recorded yet."""

    async def merge_view(self, request: MergeView) -> Merged: ...

    async def versions(self, key: int, head: Place | None) -> Versions:
        """State and configuration in force on the path that ends in `head` (C6, C30)."""

    async def append(self, write: Append) -> Appended: ...

    async def end(self, write: End) -> Appended: ...

    async def renew(self, keys: Sequence[int], owner: str, lease_until: Instant) -> None:
        """Extend the owner's leases on these sessions in one update (T27)."""

    async def stops(self, keys: Sequence[int]) -> list[tuple[int, str]]:
        """`(session key, turn id)` of the turns somebody asked to stop, among those running there (T23)."""

    async def session(self, session_id: str) -> SessionRecord | None: ...

    async def sessions(self, *, agent: str | None = None, limit: int = 50) -> list[SessionRecord]:
        """The most recently used first."""

    async def path(self, key: int, head: Place | None, *, lean_before: int | None) -> list[PathEntry]:
        """Root first, up to `head`. With `lean_before`, of turns below that number only texts are read (R4)."""

    async def entries(self, key: int, ids: Sequence[str]) -> list[PathEntry]:
        """The recorded messages of these ids, on whatever branch, in no order."""

    async def report(self, key: int, head: Place | None, execution: int) -> Report | None:
        """What the last completed main call on the path to `head` said and sent (X5).

        Of the executions it may belong to, those of sub-agents other than `execution` are left out.
        """

    async def call_ids(self, key: int, execution: int) -> list[str]:
        """The ids of the tool calls this execution has made, those that are not on its path any more included."""

    async def step(self, key: int, turn_id: str) -> StepRecord | None:
        """The turn's last step."""

    async def steps(self, key: int) -> list[StepRecord]: ...

    async def runs(self, key: int, turn: int) -> list[RunRecord]:
        """The turn's executions in the order they began."""

    async def run_path(self, key: int, execution: int) -> list[PathEntry]:
        """What a sub-agent's run has recorded, root first."""

    async def waits(self, key: int, turn_id: str) -> bool:
        """Whether the turn is in the queue."""

    async def planned(self, key: int, turn: int, execution: int) -> Planned:
        """What a step that resumes the turn has to know of the steps before (T32, T33)."""

    async def todos(self, key: int) -> TodoRecord | None:
        """The list that clients were told of last, null when there is none or it was dropped (T32)."""

    async def trace(self, key: int, number: int | None) -> TurnRows | None:
        """All rows of the turn of this number, or of the newest one (R6)."""

    async def tree(self, key: int) -> Tree: ...

    async def events(self, session_id: str, after: int, limit: int = 500) -> list[Event]:
        """Logged events with `seq > after`, texts joined in, in order."""

    async def delete(self, session_id: str, alive: Alive) -> bool:
        """Erase the session and all its rows; false when there is none, `TurnAlreadyActive` when it runs (R12)."""

    async def close(self) -> None: ...
