"""What a commit writes: one tuple type per statement, its fields in the order of the statement's parameters.

An insert's fields are columns of its table. An update's are first the columns it sets, then those of its WHERE clause,
whose row count must be 1: a conditional update that misses is refused, never ignored (C35). The store adds
`session_key`, for the session's own row its key; `statements.py` turns the two tables at the end of this file into
SQL text once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from agentflow.message import Role, WrittenAs
from agentflow.store.kept import DecideSnapshots, InsertMemory, InsertSnapshot, InsertSnapshotData


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


Row = (
    InsertTurn | InsertStep | InsertExecution | InsertBranch | InsertMessage | InsertLlmCall | InsertToolCall
    | InsertQuestion | InsertTodoList | InsertStateVersion | InsertAlias | InsertQueueEntry | InsertBlob
    | InsertHookRun | MoveTurn | EndTurn | ResumeTurn | KeepData | PlanTurn | PlanExecution | EndStep | MoveExecution
    | EndLlmCall | MoveLlmCall | ChangeModel | CheckpointLlmCall | StartToolCall | EndToolCall | VoidToolCall
    | KeepReply | MovePause | MoveQuestion | ConfigureRun | InsertSnapshot | InsertSnapshotData | DecideSnapshots
    | InsertMemory | KeepTraceparent
)  # fmt: skip

INSERTS: dict[type[Any], str] = {
    InsertTurn: "turn",
    InsertStep: "step",
    InsertExecution: "execution",
    InsertBranch: "branch",
    InsertMessage: "message",
    InsertLlmCall: "llm_call",
    InsertToolCall: "tool_call",
    InsertQuestion: "question",
    InsertTodoList: "todo_list",
    InsertStateVersion: "state_version",
    InsertAlias: "alias",
    InsertQueueEntry: "queue_entry",
    InsertHookRun: "hook_run",
    InsertBlob: "blob",
    InsertSnapshot: "snapshot",
    InsertSnapshotData: "snapshot_data",
    InsertMemory: "agent_memory",
}
KEPT_WHEN_PRESENT = frozenset({InsertBlob, InsertSnapshotData})

# table, columns of the WHERE clause; a field `from_x` is compared with column `x`
UPDATES: dict[type[Any], tuple[str, tuple[str, ...]]] = {
    MoveTurn: ("turn", ("number", "from_state")),
    EndTurn: ("turn", ("number", "from_state")),
    ConfigureRun: ("execution", ("number",)),
    ResumeTurn: ("turn", ("number",)),
    KeepData: ("turn", ("number",)),
    KeepTraceparent: ("turn", ("number",)),
    PlanTurn: ("turn", ("number",)),
    PlanExecution: ("execution", ("number",)),
    EndStep: ("step", ("number",)),
    MoveExecution: ("execution", ("number",)),
    EndLlmCall: ("llm_call", ("id",)),
    MoveLlmCall: ("llm_call", ("id",)),
    ChangeModel: ("llm_call", ("id",)),
    CheckpointLlmCall: ("llm_call", ("id",)),
    StartToolCall: ("tool_call", ("execution", "id", "from_status")),
    EndToolCall: ("tool_call", ("execution", "id", "from_status")),
    VoidToolCall: ("tool_call", ("execution", "id", "from_status")),
    KeepReply: ("llm_call", ("id",)),
    MovePause: ("question", ("execution", "call_id", "from_state")),
    MoveQuestion: ("question", ("execution", "call_id", "from_state")),
    DecideSnapshots: ("session", ()),
}
