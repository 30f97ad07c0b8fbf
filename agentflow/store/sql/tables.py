"""The tables (R3). Every row but the session's own hangs on `session.key`, and the database cascades from it.

Sizes matter here: a turn writes some thirty rows, so rows point at each other by small numbers that count inside
one session (turn, step, execution, branch, depth) and only messages, calls and turns carry their public ids.
A text is stored once, in `message` (an over-long tool result in full in its call row); events hold references.
Instants are whole microseconds since the epoch, JSON is text: both read the same from every database.
"""

from __future__ import annotations

from typing import Any, ClassVar

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Integer, MetaData, Text, UniqueConstraint
from sqlmodel import Field, SQLModel

_NAMES = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}

# Small rows live in the tree of their primary key: one page to write instead of two.
_KEYED = {"sqlite_with_rowid": False}


class Base(SQLModel):
    metadata: ClassVar[MetaData] = MetaData(naming_convention=_NAMES)


def _session_key() -> Any:
    return Field(
        sa_column=Column(
            BigInteger().with_variant(Integer(), "sqlite"),
            ForeignKey("session.key", ondelete="CASCADE"),
            primary_key=True,
            autoincrement=False,
        )
    )


def _number(**options: Any) -> Any:
    return Field(sa_column=Column(Integer(), primary_key=True, autoincrement=False, **options))


def _word(**options: Any) -> Any:
    return Field(sa_column=Column(Text(), primary_key=True, **options))


def _at() -> Any:
    return Field(default=None, sa_type=BigInteger)


def _text() -> Any:
    return Field(default=None, sa_type=Text)


class Session(Base, table=True):
    """One conversation, its head, and the claim on it: `turn` is the running turn, `epoch` fences its writers (C35)."""

    __tablename__ = "session"
    __table_args__ = (Index("ix_session_agent_updated", "agent", "updated_at"), {"sqlite_autoincrement": True})

    key: int | None = Field(
        default=None, sa_column=Column(BigInteger().with_variant(Integer(), "sqlite"), primary_key=True)
    )
    id: str = Field(sa_column=Column(Text(), nullable=False, unique=True))
    agent: str = Field(sa_type=Text)
    name: str | None = _text()
    environment: str = Field(default="production", sa_type=Text)
    created_at: int = Field(sa_type=BigInteger)
    updated_at: int = Field(sa_type=BigInteger)
    branch: int | None = None
    depth: int | None = None
    seq: int = 0
    epoch: int = 0
    turn: int | None = None
    owner: str | None = _text()
    lease_until: int | None = _at()
    stop_turn: str | None = _text()
    queued: int = 0
    turns: int = 0
    steps: int = 0
    executions: int = 0
    branches: int = 0
    ended_at: int | None = _at()
    outcome: str | None = _text()


class Turn(Base, table=True):
    """One piece of work; `state` moves only by the machine's table (T2). Usage sums include every call of it (X6).

    `request` is what its requests said beside their messages, the client tools by `tools_hash` (C8, C37); `data` is
    what a worker ended it with (C33).
    """

    __tablename__ = "turn"
    __table_args__ = (UniqueConstraint("session_key", "id"), _KEYED)

    session_key: int = _session_key()
    number: int = _number()
    id: str = Field(sa_type=Text)
    state: str = Field(sa_type=Text)
    config_hash: str = Field(sa_type=Text)
    created_at: int = Field(sa_type=BigInteger)
    ended_at: int | None = _at()
    request: str | None = _text()
    tools_hash: str | None = _text()
    plan: str | None = _text()
    after_seq: int = 0
    error: str | None = _text()
    limit_name: str | None = _text()
    data: str | None = _text()
    input: int | None = None
    output: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    cost: str | None = _text()


class Step(Base, table=True):
    """One request and what the user sees as its answer: the first `answer_chars` characters of `answer_id`'s text."""

    __tablename__ = "step"
    __table_args__ = _KEYED

    session_key: int = _session_key()
    number: int = _number()
    turn: int
    state: str = Field(sa_type=Text)
    opened_at: int = Field(sa_type=BigInteger)
    completed_at: int | None = _at()
    first_token_ms: int | None = None
    user_message_id: str | None = _text()
    answer_id: str | None = _text()
    answer_chars: int | None = None


class Execution(Base, table=True):
    """One run of an agent or sub-agent inside a turn."""

    __tablename__ = "execution"
    __table_args__ = _KEYED

    session_key: int = _session_key()
    number: int = _number()
    turn: int
    agent: str = Field(sa_type=Text)
    config_hash: str = Field(sa_type=Text)
    status: str = Field(sa_type=Text)
    started_at: int = Field(sa_type=BigInteger)
    duration_ms: int | None = None
    parent: int | None = None
    parent_call_id: str | None = _text()


class Branch(Base, table=True):
    """A run of message depths that forks from its parent branch after `fork_depth`; a root has no parent (C5)."""

    __tablename__ = "branch"
    __table_args__ = _KEYED

    session_key: int = _session_key()
    number: int = _number()
    parent: int | None = None
    fork_depth: int = 0
    execution: int | None = None


class Message(Base, table=True):
    """A node, at a place in a branch. A copy stores no content: it is read from `copied_from`; `written_as` says what
    a `context.replace` wrote it as (X18).
    """

    __tablename__ = "message"
    __table_args__ = (UniqueConstraint("session_key", "id"),)

    session_key: int = _session_key()
    branch: int = _number()
    depth: int = _number()
    id: str = Field(sa_type=Text)
    role: str = Field(sa_type=Text)
    turn: int
    execution: int
    content: str | None = _text()
    parts: str | None = _text()
    calls: str | None = _text()
    call_id: str | None = _text()
    name: str | None = _text()
    provider: str | None = _text()
    hidden: int = 0
    copied_from: str | None = _text()
    written_as: str | None = _text()


class Alias(Base, table=True):
    """Another name for a turn or a message (C19, C22, C26).

    A turn's says which `step` it opened, and what the log had before; of one that waits in the queue neither is known.
    """

    __tablename__ = "alias"
    __table_args__ = _KEYED

    session_key: int = _session_key()
    kind: str = _word()
    alias: str = _word()
    target: str = Field(sa_type=Text)
    step: int | None = None
    after_seq: int | None = None


class LlmCall(Base, table=True):
    """One model call of any purpose; its id is its reply's message id (C3). `branch`, `depth` are its anchor (C20).

    `raw_reply` is what the model said, when a worker had something else recorded (C33).
    """

    __tablename__ = "llm_call"
    __table_args__ = _KEYED

    session_key: int = _session_key()
    id: str = _word()
    turn: int
    execution: int
    step: int
    iteration: int
    purpose: str = Field(sa_type=Text)
    model: str = Field(sa_type=Text)
    status: str = Field(sa_type=Text)
    requested_at: int = Field(sa_type=BigInteger)
    branch: int | None = None
    depth: int | None = None
    duration_ms: int | None = None
    first_token_ms: int | None = None
    attempts: int | None = None
    request_chars: int | None = None
    prompt_hash: str | None = _text()
    tools_hash: str | None = _text()
    finish_reason: str | None = _text()
    input: int | None = None
    output: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    cost: str | None = _text()
    error: str | None = _text()
    checkpoint: str | None = _text()
    raw_reply: str | None = _text()


class ToolCall(Base, table=True):
    """One call of a reply, planned → started → finished or closed; arguments stand in the reply's message.

    `handler` is who performs it when that is not this engine: `worker` or `client` (C32, C37).
    """

    __tablename__ = "tool_call"
    __table_args__ = _KEYED

    session_key: int = _session_key()
    execution: int = _number()
    id: str = _word()
    turn: int
    reply_id: str = Field(sa_type=Text)
    name: str = Field(sa_type=Text)
    status: str = Field(sa_type=Text)
    started_at: int | None = _at()
    duration_ms: int | None = None
    ok: int | None = None
    result_id: str | None = _text()
    full_result: str | None = _text()
    altered: int = Field(default=0, sa_column_kwargs={"server_default": "0"})
    handler: str | None = _text()


class Question(Base, table=True):
    """A pause, one of `questions`, `tools` or `approval`: what it waits for, where, whether it is open (T18, C38)."""

    __tablename__ = "question"
    __table_args__ = _KEYED

    session_key: int = _session_key()
    execution: int = _number()
    call_id: str = _word()
    turn: int
    state: str = Field(sa_type=Text)
    questions: str = Field(sa_type=Text)
    asked_at: int = Field(sa_type=BigInteger)
    expires_at: int | None = _at()
    branch: int | None = None
    depth: int | None = None
    kind: str = Field(default="questions", sa_column=Column(Text(), nullable=False, server_default="questions"))


class TodoList(Base, table=True):
    """One version of an execution's todo list, written with its tool call (T32)."""

    __tablename__ = "todo_list"
    __table_args__ = _KEYED

    session_key: int = _session_key()
    turn: int = _number()
    execution: int = _number()
    number: int = _number()
    items: str = Field(sa_type=Text)


class StateVersion(Base, table=True):
    """One write of the agent's state (`state`) or of its configuration (`agent`), anchored at a place (C6, C30)."""

    __tablename__ = "state_version"
    __table_args__ = _KEYED

    session_key: int = _session_key()
    number: int = _number()
    kind: str = Field(sa_type=Text)
    value: str = Field(sa_type=Text)
    turn: int
    branch: int | None = None
    depth: int | None = None


class HookRun(Base, table=True):
    """One call of a hook, `ok`, `changed` or `failed`; they count inside their step (T37)."""

    __tablename__ = "hook_run"
    __table_args__ = _KEYED

    session_key: int = _session_key()
    step: int = _number()
    number: int = _number()
    turn: int
    execution: int
    point: str = Field(sa_type=Text)
    flow: str = Field(sa_type=Text)
    at: int = Field(sa_type=BigInteger)
    duration_ms: int
    outcome: str = Field(sa_type=Text)
    error: str | None = _text()


class QueueEntry(Base, table=True):
    """An input that waits for its turn, in arrival order (C21, C22)."""

    __tablename__ = "queue_entry"

    session_key: int = _session_key()
    number: int = _number()
    turn_id: str = Field(sa_type=Text)
    mode: str = Field(sa_type=Text)
    input: str = Field(sa_type=Text)
    queued_at: int = Field(sa_type=BigInteger)


class Event(Base, table=True):
    """The log: `ref` and `data` point at what happened, readers join the texts in (R3, T40)."""

    __tablename__ = "event"
    __table_args__ = _KEYED

    session_key: int = _session_key()
    seq: int = _number()
    turn: int | None = None
    at: int = Field(sa_type=BigInteger)
    type: str = Field(sa_type=Text)
    ref: str | None = _text()
    data: str | None = _text()


class Blob(Base, table=True):
    """A prompt, tool list or configuration by its hash, stored once a session."""

    __tablename__ = "blob"

    session_key: int = _session_key()
    hash: str = _word()
    body: str = Field(sa_type=Text)
