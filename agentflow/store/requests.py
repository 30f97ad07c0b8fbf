"""What the engine asks of the store: frozen values in. What it gets back is in `records`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from agentflow.clock import Instant, NewId
from agentflow.conversation.inbox import ClientTool, Input
from agentflow.conversation.tree import Place
from agentflow.events import LogEntry
from agentflow.message import Message
from agentflow.store.rows.written import Row
from agentflow.tools.tool import MAX_RESULT_CHARS
from agentflow.turn_table import Trigger

Alive = Callable[[str, Instant, str], bool]
"""`(owner, lease_until, turn_id) -> bool`: is the process that claimed this turn still running it (T27)."""


@dataclass(frozen=True, slots=True)
class Owning:
    """Who claims, and what a turn that starts by it runs with.

    `config(limits)` is `(hash, JSON text)` of the configuration in force for a turn with these limits of its own, which
    it refuses when they cannot be (A7, C8). `call_model` is the model of the first call, recorded as requested in the
    same commit (T11), or null when something comes before it. `check_inputs` validates the agent inputs of a request
    that starts or queues a turn, `check_tools` the tools of its client (C37); `planning`: the agent keeps todos (T32),
    `observed`: what its turns say stays (R5).
    `result_chars(agent, tool)` says how long a result of the client may be.
    """

    agent: str
    config: Callable[[Mapping[str, Any]], tuple[str, str]]
    call_model: str | None
    owner: str
    lease_until: Instant
    at: Instant
    alive: Alive
    new_id: NewId
    check_inputs: Callable[[Mapping[str, Any]], dict[str, Any]]
    planning: bool = False
    observed: bool = True
    check_tools: Callable[[Sequence[ClientTool]], None] = lambda tools: None
    result_chars: Callable[[str, str], int] = lambda agent, tool: MAX_RESULT_CHARS


Wake = Callable[[str], Owning | None]
"""`agent -> Owning`: what the first waiting turn of a session of this agent runs with; null when it cannot run here.

It is asked on the store's thread, and only when a turn waits.
"""


@dataclass(frozen=True, slots=True)
class Claim:
    """One request for a session (T4); pure apart from the rows it reads, so it can be run again.

    `turn_id_given` is false when the id was minted here. With `user` a session of anybody else is not there; `if_head`
    is the id the path has to end in, empty for an empty one; new messages have one of the `roles`, null for any.
    """

    session_id: str
    input: Input
    turn_id: str
    turn_id_given: bool
    owning: Owning
    environment: str = "production"
    user: str | None = None
    if_head: str | None = None
    roles: Collection[str] | None = None


@dataclass(frozen=True, slots=True)
class ListSessions:
    """A page of the sessions, the most recently used first, of all agents or one, of all users or one.

    `search` is found in their names.

    `moment` is when the list was begun, `after` what its last page ended with: when that was used, and its key.
    """

    agent: str | None = None
    limit: int = 50
    search: str | None = None
    moment: Instant | None = None
    after: tuple[Instant, int] | None = None
    user: str | None = None


@dataclass(frozen=True, slots=True)
class Stop:
    """End a session's turn from outside: the running one, or the one that is paused on the active path (T23, T25).

    With `turn_id` only that turn; `drain` empties the queue too. What is ended here starts the next one by `wake`,
    null where that is left to others (C24).
    """

    session_id: str
    turn_id: str | None
    drain: bool
    at: Instant
    alive: Alive
    new_id: NewId
    wake: Wake | None = None


@dataclass(frozen=True, slots=True)
class MoveHead:
    """Move a session's head to a message, which may be named by an alias (C2).

    `turn_id` is the request's idempotency key (C19), `wake` as in `Stop`: the move may have left a pause;
    `user` and `if_head` as in `Claim`.
    """

    session_id: str
    message_id: str
    at: Instant
    alive: Alive
    new_id: NewId
    turn_id: str | None = None
    wake: Wake | None = None
    user: str | None = None
    if_head: str | None = None


@dataclass(frozen=True, slots=True)
class Settle:
    """Give a call that was left open its result (C33, C39). `tools` are the names of the worker tools, by agent; with
    `owning` the turn goes on that waited for its client.
    """

    session_id: str
    call_id: str
    ok: bool
    text: str
    tools: Mapping[str, Collection[str]]
    owning: Owning


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
class Append:
    """One commit of a running turn: rows, log entries, and where the path ends after it.

    With `keeps_head` the stored head stays: the commit has no message of the path (C36).
    """

    session_key: int
    epoch: int
    turn: int
    at: Instant
    head: Place | None
    executions: int
    branches: int
    rows: Sequence[Row]
    log: Sequence[LogEntry]
    keeps_head: bool = False


class Seen(NamedTuple):
    """What the user has seen of an answer that a turn's end cuts short.

    `message_id` is the message that has it, or is to have it; `is_recorded`: the same commit writes that message.
    """

    message_id: str
    text: str
    is_recorded: bool = False


@dataclass(frozen=True, slots=True)
class Close:
    """How a turn that does not end by itself is closed; what is open of it the store knows (T24-T30).

    `why` is a sentence for the results of open calls, `lost` the error of open model calls. `marker` follows the text
    the user has seen; with `always` it is recorded without text too. `seen` is that text where the process that runs
    the turn knows it; else the last checkpoint counts. `failure` is the turn's error, `limit` the one it reached.
    """

    trigger: Trigger
    why: str
    lost: Mapping[str, Any]
    marker: str | None = None
    always: bool = False
    seen: Seen | None = None
    failure: Mapping[str, Any] | None = None
    limit: str | None = None
    first_token_ms: int | None = None


@dataclass(frozen=True, slots=True)
class End:
    """The last commit of a turn's step: `append` and the release of the session in one transaction (T10).

    `state` is the turn's state and becomes the session's outcome. With `owning` the first entry of the queue starts in
    the same transaction, unless the active path waits for an answer (C21); a runtime that closes gives none and leaves
    the queue as it is.
    """

    append: Append
    state: str
    owning: Callable[[], Owning] | None = None


@dataclass(frozen=True, slots=True)
class CloseTurn:
    """The last commit of a turn that does not end by itself: what it still has to say in `append`, then the store
    closes what is open, writes the final rows and releases the session. The rest is as in `End`.
    """

    append: Append
    how: Close
    new_id: NewId
    owning: Callable[[], Owning] | None = None
