"""A new row each, its fields columns of its table."""

from __future__ import annotations

from typing import NamedTuple

from agentflow.message import Role, WrittenAs


class InsertTurn(NamedTuple):
    number: int
    id: str
    state: str
    config_hash: str
    created_at: int
    request: str | None
    after_seq: int
    tools_hash: str | None = None
    first_step: int = 0
    execution: int | None = None


class InsertStep(NamedTuple):
    number: int
    turn: int
    state: str
    opened_at: int
    user_message_id: str | None


class InsertExecution(NamedTuple):
    number: int
    turn: int
    agent: str
    config_hash: str
    status: str
    started_at: int
    parent: int | None = None
    parent_call_id: str | None = None


class InsertBranch(NamedTuple):
    number: int
    parent: int | None
    fork_depth: int
    execution: int | None = None


class InsertMessage(NamedTuple):
    branch: int
    depth: int
    id: str
    role: Role
    turn: int
    execution: int
    content: str | None = None
    parts: str | None = None
    calls: str | None = None
    call_id: str | None = None
    name: str | None = None
    provider: str | None = None
    hidden: int = 0
    copied_from: str | None = None
    written_as: WrittenAs | None = None


class InsertLlmCall(NamedTuple):
    id: str
    turn: int
    execution: int
    step: int
    iteration: int
    purpose: str
    model: str
    status: str
    requested_at: int
    branch: int | None
    depth: int | None


class InsertToolCall(NamedTuple):
    execution: int
    id: str
    turn: int
    reply_id: str
    name: str
    status: str
    started_at: int | None
    handler: str | None = None


class InsertQuestion(NamedTuple):
    execution: int
    call_id: str
    turn: int
    state: str
    questions: str
    asked_at: int
    expires_at: int | None
    branch: int
    depth: int
    kind: str = "questions"


class InsertTodoList(NamedTuple):
    turn: int
    execution: int
    number: int
    items: str


class InsertStateVersion(NamedTuple):
    number: int
    kind: str
    value: str
    turn: int
    branch: int | None
    depth: int | None


class InsertAlias(NamedTuple):
    kind: str
    alias: str
    target: str
    step: int | None = None
    after_seq: int | None = None


class InsertQueueEntry(NamedTuple):
    number: int
    turn_id: str
    mode: str
    input: str
    queued_at: int


class InsertHookRun(NamedTuple):
    step: int
    number: int
    turn: int
    execution: int
    point: str
    flow: str
    at: int
    duration_ms: int
    outcome: str
    error: str | None


class InsertBlob(NamedTuple):  # written unless the session has it already
    hash: str
    body: str


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


class InsertMemory(NamedTuple):
    step: int
    number: int
    topic: str
    content: str
    at: int
    turn: int
