"""What is kept beside a conversation's turns, as rows of a turn's commit and as the records that are read (R8, R10)."""

from __future__ import annotations

from typing import NamedTuple

from agentflow.clock import Instant


class InsertSnapshot(NamedTuple):
    step: int
    number: int
    turn: int
    entity: str
    entity_key: str
    hash: str | None
    chars: int
    problem: str | None
    at: int


class InsertSnapshotData(NamedTuple):  # written unless the session has it already
    hash: str
    body: bytes


class DecideSnapshots(NamedTuple):
    """Whether the session is snapshotted, said once (R8)."""

    snapshotted: int
    snapshot_reason: str


class InsertMemory(NamedTuple):
    step: int
    number: int
    topic: str
    content: str
    at: int
    turn: int


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
