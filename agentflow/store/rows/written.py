"""Every row that a commit may write, with its table."""

from __future__ import annotations

from typing import Any

from agentflow.store.rows import changes, inserts

Row = (
    inserts.InsertTurn
    | inserts.InsertStep
    | inserts.InsertExecution
    | inserts.InsertBranch
    | inserts.InsertMessage
    | inserts.InsertLlmCall
    | inserts.InsertToolCall
    | inserts.InsertQuestion
    | inserts.InsertTodoList
    | inserts.InsertStateVersion
    | inserts.InsertAlias
    | inserts.InsertQueueEntry
    | inserts.InsertBlob
    | inserts.InsertHookRun
    | changes.MoveTurn
    | changes.EndTurn
    | changes.ResumeTurn
    | changes.KeepData
    | changes.PlanTurn
    | changes.PlanExecution
    | changes.EndStep
    | changes.MoveExecution
    | changes.EndLlmCall
    | changes.MoveLlmCall
    | changes.ChangeModel
    | changes.CheckpointLlmCall
    | changes.StartToolCall
    | changes.EndToolCall
    | changes.VoidToolCall
    | changes.KeepReply
    | changes.MovePause
    | changes.MoveQuestion
    | changes.ConfigureRun
    | inserts.InsertSnapshot
    | inserts.InsertSnapshotData
    | changes.DecideSnapshots
    | inserts.InsertMemory
    | changes.KeepTraceparent
)

INSERTS: dict[type[Any], str] = {
    inserts.InsertTurn: "turn",
    inserts.InsertStep: "step",
    inserts.InsertExecution: "execution",
    inserts.InsertBranch: "branch",
    inserts.InsertMessage: "message",
    inserts.InsertLlmCall: "llm_call",
    inserts.InsertToolCall: "tool_call",
    inserts.InsertQuestion: "question",
    inserts.InsertTodoList: "todo_list",
    inserts.InsertStateVersion: "state_version",
    inserts.InsertAlias: "alias",
    inserts.InsertQueueEntry: "queue_entry",
    inserts.InsertHookRun: "hook_run",
    inserts.InsertBlob: "blob",
    inserts.InsertSnapshot: "snapshot",
    inserts.InsertSnapshotData: "snapshot_data",
    inserts.InsertMemory: "agent_memory",
}
KEPT_WHEN_PRESENT = frozenset({inserts.InsertBlob, inserts.InsertSnapshotData})

# table, columns of the WHERE clause; a field `from_x` is compared with column `x`
UPDATES: dict[type[Any], tuple[str, tuple[str, ...]]] = {
    changes.MoveTurn: ("turn", ("number", "from_state")),
    changes.EndTurn: ("turn", ("number", "from_state")),
    changes.ConfigureRun: ("execution", ("number",)),
    changes.ResumeTurn: ("turn", ("number",)),
    changes.KeepData: ("turn", ("number",)),
    changes.KeepTraceparent: ("turn", ("number",)),
    changes.PlanTurn: ("turn", ("number",)),
    changes.PlanExecution: ("execution", ("number",)),
    changes.EndStep: ("step", ("number",)),
    changes.MoveExecution: ("execution", ("number",)),
    changes.EndLlmCall: ("llm_call", ("id",)),
    changes.MoveLlmCall: ("llm_call", ("id",)),
    changes.ChangeModel: ("llm_call", ("id",)),
    changes.CheckpointLlmCall: ("llm_call", ("id",)),
    changes.StartToolCall: ("tool_call", ("execution", "id", "from_status")),
    changes.EndToolCall: ("tool_call", ("execution", "id", "from_status")),
    changes.VoidToolCall: ("tool_call", ("execution", "id", "from_status")),
    changes.KeepReply: ("llm_call", ("id",)),
    changes.MovePause: ("question", ("execution", "call_id", "from_state")),
    changes.MoveQuestion: ("question", ("execution", "call_id", "from_state")),
    changes.DecideSnapshots: ("session", ()),
}
