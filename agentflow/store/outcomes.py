"""What the store tells of a write: frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from agentflow.clock import Instant
from agentflow.conversation.inbox import TurnOptions
from agentflow.conversation.tree import Place
from agentflow.errors import AgentflowError
from agentflow.events import LogEntry
from agentflow.message import Message, Usage


@dataclass(frozen=True, slots=True)
class Claimed:
    """A turn is running and ours. `head` is where the path ends now, `previous_head` where it ended before.

    `options` are the request's (C8), `messages` what was recorded of it, with ids. `usage` is what the
    turn has spent in earlier steps, when `resumed` by the answer to a question, which execution number `asking` had
    asked; `worked` is how long those steps took. `forks`: something follows the head on its branch already, so the
    next message opens a branch. `answer` is there when the path ends in it already (C13). `delivered` is a view with
    its ids given, `new_from` where its news begin (C12). `call_id` names the first model call when the claim recorded
    it. `previous_ended_at`: when the session was last at work, null on a first turn and when `resumed` (X11). `log`
    holds the turn's entries of this commit, the last of which has the sequence number `seq`; `before` those written
    just before for a turn that ended by it, with that turn's id (T30). `awaits_name`: the session may be named after
    this turn (R7). `traceparent` is the span of the first part of a `resumed` turn, where one was kept (R12).
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
    options: TurnOptions
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
    awaits_name: bool = False
    traceparent: str | None = None

    @property
    def inputs(self) -> Mapping[str, Any]:
        return self.options.inputs

    @property
    def client(self) -> Mapping[str, Any]:
        return self.options.client.as_dict()


@dataclass(frozen=True, slots=True)
class TurnRef:
    """The turn that a name means (C19): its id, empty for a request that ran no turn.

    `number` is null while it waits in the queue. The request of that name opened `step`, after event `after_seq`;
    both are null where the name is of no particular request of the turn.
    """

    id: str
    number: int | None = None
    step: int | None = None
    after_seq: int | None = None


@dataclass(frozen=True, slots=True)
class Replayed:
    """The request was made before, or asks for nothing: that turn answers, nothing runs (C19, C27)."""

    turn_id: str
    after_seq: int


@dataclass(frozen=True, slots=True)
class Given:
    """A result of the client is recorded, and the turn waits for the others (C39)."""

    turn_id: str
    after_seq: int


@dataclass(frozen=True, slots=True)
class Recorded:
    """Messages were recorded and no turn runs (C8)."""

    after_seq: int


@dataclass(frozen=True, slots=True)
class Refused:
    """The request is refused for what its transaction found and has written: the question had expired (C29).

    `started` is the queued turn that began, since a pause has ended.
    """

    error: AgentflowError
    started: Claimed | None


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
class Stopped:
    """`requested`: a live turn was asked; `ended`: a dead or paused turn was closed here; else there was nothing.

    `drained` are the turn ids taken out of the queue, `started` is the queued turn that began, since a turn ended.
    """

    turn_id: str | None
    requested: bool = False
    ended: bool = False
    drained: tuple[str, ...] = ()
    started: Claimed | None = None


class Closed(NamedTuple):
    """What the user has of a turn that was closed: the first characters of its last message, null for none.

    `log` is what closing it has told, once that is written.
    """

    turn_id: str
    answer_id: str | None
    answer: str | None
    log: tuple[LogEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class Appended:
    """`seq` is the number of the last entry, `stop_turn` the turn somebody asked to stop (T23), `started` the queued
    turn that began when this one ended, `closed` what came of closing the turn.
    """

    seq: int
    stop_turn: str | None
    started: Claimed | None = None
    closed: Closed | None = None


@dataclass(frozen=True, slots=True)
class Moved:
    """Where the head stands; `moved` is false when it stood there already. `after_seq` is what the log had before.

    `started` is the queued turn that began, since a pause was left. `replayed`: the same request was made before, for
    `turn_id` when that was one of a turn (C19).
    """

    head_id: str
    moved: bool
    after_seq: int
    started: Claimed | None = None
    replayed: bool = False
    turn_id: str = ""


@dataclass(frozen=True, slots=True)
class Settled:
    """`outcome`: `settled`; `replayed` for an equal result that was there already; `ignored` for one that comes too
    late, as its call is closed or its place left the path (C20, C39).

    `started` is the step in which the turn goes on now, or the queued turn that began instead; with `expired` the
    time to wait was over.
    """

    turn_id: str
    outcome: Literal["settled", "replayed", "ignored"]
    started: Claimed | None = None
    expired: AgentflowError | None = None


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


class KeyedRequest(NamedTuple):
    """A request that came with a key of its own; `answer` is null while it runs (S7)."""

    fingerprint: str
    answer: str | None
