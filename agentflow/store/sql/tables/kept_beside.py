"""The tables of what is kept beside a conversation's turns: feedback, memory, snapshots, statistics (R5-R12)."""

from __future__ import annotations

from sqlalchemy import BigInteger, LargeBinary, Text
from sqlmodel import Field

from agentflow.store.sql.tables.base import KEYED, Base, number, owner, text, word


class Feedback(Base, table=True):
    """What a person thought of a step: `up`, `down` or `1` to `5`; a later one replaces the earlier (R11)."""

    __tablename__ = "feedback"
    __table_args__ = KEYED

    session_key: int = owner()
    step: int = number()
    rating: str = Field(sa_type=Text)
    comment: str | None = text()
    at: int = Field(sa_type=BigInteger)


class AgentMemory(Base, table=True):
    """A note an agent keeps across the turns of its session, whichever branch wrote it (R10)."""

    __tablename__ = "agent_memory"
    __table_args__ = KEYED

    session_key: int = owner()
    step: int = number()
    number: int = number()
    topic: str = Field(sa_type=Text)
    content: str = Field(sa_type=Text)
    at: int = Field(sa_type=BigInteger)
    turn: int


class Snapshot(Base, table=True):
    """An entity's data as a flow loaded it; equal data stands once, in `snapshot_data` (R8).

    Numbered in its step. `hash` is null where `problem` says why the data could not be taken, `chars` its JSON's size.
    """

    __tablename__ = "snapshot"
    __table_args__ = KEYED

    session_key: int = owner()
    step: int = number()
    number: int = number()
    turn: int
    entity: str = Field(sa_type=Text)
    entity_key: str = Field(sa_type=Text)
    hash: str | None = text()
    chars: int
    problem: str | None = text()
    at: int = Field(sa_type=BigInteger)


class SnapshotData(Base, table=True):
    """Compressed canonical JSON by the hash of its text (R8)."""

    __tablename__ = "snapshot_data"

    session_key: int = owner()
    hash: str = word()
    body: bytes = Field(sa_type=LargeBinary)


class SessionStats(Base, table=True):
    """What a turn counted, up to the end of its last step: it outlives what `observability: false` erases (R5, R6).

    `error` is the code it failed with; `models` and `tools` are JSON.
    """

    __tablename__ = "session_stats"
    __table_args__ = KEYED

    session_key: int = owner()
    turn: int = number()
    agent: str = Field(sa_type=Text)
    state: str = Field(sa_type=Text)
    error: str | None = text()
    started_at: int = Field(sa_type=BigInteger)
    ended_at: int = Field(sa_type=BigInteger)
    duration_ms: int
    steps: int
    first_token_ms: int | None = None
    input: int
    output: int
    cache_read: int
    cache_write: int
    cost: str | None = text()
    models: str = Field(sa_type=Text)
    tools: str = Field(sa_type=Text)


class KeyedRequest(Base, table=True):
    """A request that came with a key of its own: who answers it, and what was answered, for a day (S7)."""

    __tablename__ = "keyed_request"

    name: str = word()
    fingerprint: str = Field(sa_type=Text)
    owner: str = Field(sa_type=Text)
    lease_until: int = Field(sa_type=BigInteger)
    at: int = Field(sa_type=BigInteger)
    answer: str | None = text()


class Sweep(Base, table=True):
    """Which process does a periodic work of the whole database, and until when nobody else does (R12)."""

    __tablename__ = "sweep"

    name: str = word()
    owner: str = Field(sa_type=Text)
    lease_until: int = Field(sa_type=BigInteger)
