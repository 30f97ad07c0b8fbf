"""The tables of sessions, their turns, steps, messages and calls."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, Integer, Text, UniqueConstraint
from sqlmodel import Field

from agentflow.store.sql.tables.base import KEYED, Base, moment, number, owner, text, word


class Session(Base, table=True):
    """One conversation, its head, and the claim on it: `turn` is the running turn, `epoch` fences its writers (C35).

    `belongs_to` is the user whose first input made it, null where no user is told apart.
    """

    __tablename__ = "session"
    __table_args__ = (Index("ix_session_agent_updated", "agent", "updated_at"), {"sqlite_autoincrement": True})

    key: int | None = Field(
        default=None, sa_column=Column(BigInteger().with_variant(Integer(), "sqlite"), primary_key=True)
    )
    id: str = Field(sa_column=Column(Text(), nullable=False, unique=True))
    agent: str = Field(sa_type=Text)
    name: str | None = text()
    environment: str = Field(default="production", sa_type=Text)
    created_at: int = Field(sa_type=BigInteger)
    updated_at: int = Field(sa_type=BigInteger)
    branch: int | None = None
    depth: int | None = None
    seq: int = 0
    epoch: int = 0
    turn: int | None = None
    owner: str | None = text()
    lease_until: int | None = moment()
    stop_turn: str | None = text()
    queued: int = 0
    turns: int = 0
    steps: int = 0
    executions: int = 0
    branches: int = 0
    ended_at: int | None = moment()
    outcome: str | None = text()
    name_tries: int = Field(default=0, sa_column_kwargs={"server_default": "0"})
    snapshotted: int | None = None
    snapshot_reason: str | None = text()
    belongs_to: str | None = text()


class Turn(Base, table=True):
    """One piece of work; `state` moves only by the machine's table (T2). Usage sums include every call of it (X6).

    `request` is what its requests said beside their messages, the client tools by `tools_hash` (C8, C37); `data` is
    what a worker ended it with (C33). A paused one keeps the `traceparent` of the span of its first part (R12).
    """

    __tablename__ = "turn"
    __table_args__ = (UniqueConstraint("session_key", "id"), KEYED)

    session_key: int = owner()
    number: int = number()
    id: str = Field(sa_type=Text)
    state: str = Field(sa_type=Text)
    config_hash: str = Field(sa_type=Text)
    created_at: int = Field(sa_type=BigInteger)
    ended_at: int | None = moment()
    request: str | None = text()
    tools_hash: str | None = text()
    plan: str | None = text()
    after_seq: int = 0
    error: str | None = text()
    limit_name: str | None = text()
    data: str | None = text()
    input: int | None = None
    output: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    cost: str | None = text()
    first_step: int = Field(default=0, sa_column_kwargs={"server_default": "0"})
    execution: int | None = None
    traceparent: str | None = text()


class Step(Base, table=True):
    """One request and what the user sees as its answer: the first `answer_chars` characters of `answer_id`'s text."""

    __tablename__ = "step"
    __table_args__ = KEYED

    session_key: int = owner()
    number: int = number()
    turn: int
    state: str = Field(sa_type=Text)
    opened_at: int = Field(sa_type=BigInteger)
    completed_at: int | None = moment()
    first_token_ms: int | None = None
    user_message_id: str | None = text()
    answer_id: str | None = text()
    answer_chars: int | None = None


class Execution(Base, table=True):
    """One run of an agent or sub-agent inside a turn; `plan` is a sub-agent's, the main agent's is the turn's (T33)."""

    __tablename__ = "execution"
    __table_args__ = KEYED

    session_key: int = owner()
    number: int = number()
    turn: int
    agent: str = Field(sa_type=Text)
    config_hash: str = Field(sa_type=Text)
    status: str = Field(sa_type=Text)
    started_at: int = Field(sa_type=BigInteger)
    duration_ms: int | None = None
    parent: int | None = None
    parent_call_id: str | None = text()
    plan: str | None = text()


class Branch(Base, table=True):
    """A run of message depths that forks from its parent branch after `fork_depth`; a root has no parent (C5)."""

    __tablename__ = "branch"
    __table_args__ = KEYED

    session_key: int = owner()
    number: int = number()
    parent: int | None = None
    fork_depth: int = 0
    execution: int | None = None


class Message(Base, table=True):
    """A node, at a place in a branch. A copy stores no content: it is read from `copied_from`; `written_as` says what
    a `context.replace` wrote it as (X18).
    """

    __tablename__ = "message"
    __table_args__ = (UniqueConstraint("session_key", "id"),)

    session_key: int = owner()
    branch: int = number()
    depth: int = number()
    id: str = Field(sa_type=Text)
    role: str = Field(sa_type=Text)
    turn: int
    execution: int
    content: str | None = text()
    parts: str | None = text()
    calls: str | None = text()
    call_id: str | None = text()
    name: str | None = text()
    provider: str | None = text()
    hidden: int = 0
    copied_from: str | None = text()
    written_as: str | None = text()


class Alias(Base, table=True):
    """Another name for a turn or a message (C19, C22, C26).

    A turn's says which `step` it opened, and what the log had before; of one that waits in the queue neither is known.
    """

    __tablename__ = "alias"
    __table_args__ = KEYED

    session_key: int = owner()
    kind: str = word()
    alias: str = word()
    target: str = Field(sa_type=Text)
    step: int | None = None
    after_seq: int | None = None


class LlmCall(Base, table=True):
    """One model call of any purpose; its id is its reply's message id (C3). `branch`, `depth` are its anchor (C20).

    `raw_reply` is what the model said, when a worker had something else recorded (C33); `finish_word` the provider's
    own word for why the reply ended, where it is another than `finish_reason` (T12).
    """

    __tablename__ = "llm_call"
    __table_args__ = KEYED

    session_key: int = owner()
    id: str = word()
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
    prompt_hash: str | None = text()
    tools_hash: str | None = text()
    finish_reason: str | None = text()
    input: int | None = None
    output: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    cost: str | None = text()
    error: str | None = text()
    checkpoint: str | None = text()
    raw_reply: str | None = text()
    finish_word: str | None = text()
    request: str | None = text()


class ToolCall(Base, table=True):
    """One call of a reply, planned → started → finished or closed; arguments stand in the reply's message.

    `handler` is who performs it when that is not this engine: `worker` or `client` (C32, C37).
    """

    __tablename__ = "tool_call"
    __table_args__ = KEYED

    session_key: int = owner()
    execution: int = number()
    id: str = word()
    turn: int
    reply_id: str = Field(sa_type=Text)
    name: str = Field(sa_type=Text)
    status: str = Field(sa_type=Text)
    started_at: int | None = moment()
    duration_ms: int | None = None
    ok: int | None = None
    result_id: str | None = text()
    full_result: str | None = text()
    altered: int = Field(default=0, sa_column_kwargs={"server_default": "0"})
    handler: str | None = text()


class Question(Base, table=True):
    """A pause, one of `questions`, `tools` or `approval`: what it waits for, where, whether it is open (T18, C38)."""

    __tablename__ = "question"
    __table_args__ = KEYED

    session_key: int = owner()
    execution: int = number()
    call_id: str = word()
    turn: int
    state: str = Field(sa_type=Text)
    questions: str = Field(sa_type=Text)
    asked_at: int = Field(sa_type=BigInteger)
    expires_at: int | None = moment()
    branch: int | None = None
    depth: int | None = None
    kind: str = Field(default="questions", sa_column=Column(Text(), nullable=False, server_default="questions"))


class TodoList(Base, table=True):
    """One version of an execution's todo list, written with its tool call (T32)."""

    __tablename__ = "todo_list"
    __table_args__ = KEYED

    session_key: int = owner()
    turn: int = number()
    execution: int = number()
    number: int = number()
    items: str = Field(sa_type=Text)


class StateVersion(Base, table=True):
    """One write of the agent's state (`state`) or of its configuration (`agent`), anchored at a place (C6, C30)."""

    __tablename__ = "state_version"
    __table_args__ = KEYED

    session_key: int = owner()
    number: int = number()
    kind: str = Field(sa_type=Text)
    value: str = Field(sa_type=Text)
    turn: int
    branch: int | None = None
    depth: int | None = None


class HookRun(Base, table=True):
    """One call of a hook, `ok`, `changed` or `failed`; they count inside their step (T37)."""

    __tablename__ = "hook_run"
    __table_args__ = KEYED

    session_key: int = owner()
    step: int = number()
    number: int = number()
    turn: int
    execution: int
    point: str = Field(sa_type=Text)
    flow: str = Field(sa_type=Text)
    at: int = Field(sa_type=BigInteger)
    duration_ms: int
    outcome: str = Field(sa_type=Text)
    error: str | None = text()


class QueueEntry(Base, table=True):
    """An input that waits for its turn, in arrival order (C21, C22)."""

    __tablename__ = "queue_entry"

    session_key: int = owner()
    number: int = number()
    turn_id: str = Field(sa_type=Text)
    mode: str = Field(sa_type=Text)
    input: str = Field(sa_type=Text)
    queued_at: int = Field(sa_type=BigInteger)


class Event(Base, table=True):
    """The log: `ref` and `data` point at what happened, readers join the texts in (R3, T40)."""

    __tablename__ = "event"
    __table_args__ = KEYED

    session_key: int = owner()
    seq: int = number()
    turn: int | None = None
    at: int = Field(sa_type=BigInteger)
    type: str = Field(sa_type=Text)
    ref: str | None = text()
    data: str | None = text()


class Blob(Base, table=True):
    """A prompt, tool list or configuration by its hash, stored once a session."""

    __tablename__ = "blob"

    session_key: int = owner()
    hash: str = word()
    body: str = Field(sa_type=Text)
