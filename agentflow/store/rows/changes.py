"""A change of one row each: first the columns it sets, then those of its WHERE clause.

Its row count must be 1: a conditional update that misses is refused, never ignored (C35).
"""

from __future__ import annotations

from typing import NamedTuple


class MoveTurn(NamedTuple):
    """A trigger of the machine on the stored row: wins only from the state it starts in (T2)."""

    state: str
    number: int
    from_state: str


class EndTurn(NamedTuple):
    """The end of a turn's step; `ended_at` stays null when it is a pause."""

    state: str
    ended_at: int | None
    error: str | None
    limit_name: str | None
    input: int | None
    output: int | None
    cache_read: int | None
    cache_write: int | None
    cost: str | None
    number: int
    from_state: str


class ConfigureRun(NamedTuple):
    """The configuration that a resumed run goes on with (A7)."""

    config_hash: str
    number: int


class ResumeTurn(NamedTuple):
    """What a turn's requests say, since one of them answered it (C8)."""

    request: str | None
    tools_hash: str | None
    number: int


class KeepData(NamedTuple):
    """What a worker ended the turn with (C33)."""

    data: str
    number: int


class KeepTraceparent(NamedTuple):
    """The span of the turn's first part, which those after a pause link to (R12)."""

    traceparent: str
    number: int


class PlanTurn(NamedTuple):
    """What the turn's planner wrote (T33)."""

    plan: str
    number: int


class PlanExecution(NamedTuple):
    """What the planner of a sub-agent's run wrote (T33)."""

    plan: str
    number: int


class EndStep(NamedTuple):
    state: str
    completed_at: int
    first_token_ms: int | None
    answer_id: str | None
    answer_chars: int | None
    number: int


class MoveExecution(NamedTuple):
    status: str
    duration_ms: int | None
    number: int


class EndLlmCall(NamedTuple):
    status: str
    duration_ms: int | None
    first_token_ms: int | None
    attempts: int | None
    request_chars: int | None
    prompt_hash: str | None
    tools_hash: str | None
    finish_reason: str | None
    finish_word: str | None
    input: int | None
    output: int | None
    cache_read: int | None
    cache_write: int | None
    cost: str | None
    error: str | None
    checkpoint: str | None
    request: str | None
    id: str


class MoveLlmCall(NamedTuple):
    """A held call goes on at another place of the conversation: its anchor there (X19)."""

    branch: int | None
    depth: int | None
    id: str


class ChangeModel(NamedTuple):
    """A call that waits goes to another model than it was requested of (X14)."""

    model: str
    id: str


class CheckpointLlmCall(NamedTuple):
    """The text of an open stream so far (T30)."""

    checkpoint: str
    id: str


class StartToolCall(NamedTuple):
    status: str
    started_at: int
    execution: int
    id: str
    from_status: str


class EndToolCall(NamedTuple):
    """`from_status` keeps a settled call settled: its result is recorded once."""

    status: str
    duration_ms: int | None
    ok: int
    result_id: str
    full_result: str | None
    altered: int
    execution: int
    id: str
    from_status: str


class VoidToolCall(NamedTuple):
    """The call's place left the path (C20)."""

    status: str
    execution: int
    id: str
    from_status: str


class KeepReply(NamedTuple):
    """What the model said, where a worker had something else recorded (C33)."""

    raw_reply: str
    id: str


class MovePause(NamedTuple):
    """The path of a paused turn ends at another place: one of several results is recorded (C39)."""

    branch: int
    depth: int
    execution: int
    call_id: str
    from_state: str


class MoveQuestion(NamedTuple):
    """Exactly one answer wins, by `from_state` (C29)."""

    state: str
    execution: int
    call_id: str
    from_state: str


class DecideSnapshots(NamedTuple):
    """Whether the session is snapshotted, said once (R8)."""

    snapshotted: int
    snapshot_reason: str
