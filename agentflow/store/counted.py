"""What turns have counted and calls have sent, as the ledger tells it (R5, R6)."""

from __future__ import annotations

from typing import NamedTuple

from agentflow.clock import Instant


class TurnCount(NamedTuple):
    """A row of `session_stats`; `models` and `tools` are JSON texts."""

    session: int
    agent: str
    state: str
    error: str | None
    at: Instant
    duration_ms: int
    first_token_ms: int | None
    input: int
    output: int
    cache_read: int
    cache_write: int
    cost: str | None
    models: str
    tools: str


class NamingCount(NamedTuple):
    """A title call, which is no turn's (R7)."""

    session: int
    agent: str
    at: Instant
    model: str
    status: str
    input: int | None
    output: int | None
    cache_read: int | None
    cache_write: int | None
    cost: str | None


class Rating(NamedTuple):
    agent: str
    at: Instant
    rating: str


class Counts(NamedTuple):
    turns: list[TurnCount]
    naming: list[NamingCount]
    ratings: list[Rating]


class KeptFiles(NamedTuple):
    """Files of a session as base64 by hash, and the hashes that a model was refused (W4)."""

    bodies: dict[str, str]
    refused: frozenset[str]


class SentCall(NamedTuple):
    """A model call: where it was made, keys of its prompt and tools, `sent` as JSON, and the texts they are keys of."""

    id: str
    purpose: str
    model: str
    branch: int | None
    depth: int | None
    prompt: str | None
    tools: str | None
    sent: str | None
    blobs: dict[str, str]
