"""The event catalogue: what a session's log can hold, in the envelope every reader gets (T40, T41)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from agentflow.clock import Instant, rfc3339

# Logged: gapless `seq` from 1, in the transaction of what they tell. Rows hold ids; readers join the texts in (R3).
SESSION_CREATED = "session.created"
SESSION_NAMED = "session.named"
MESSAGE_NEW = "message.new"
HEAD_MOVED = "head.moved"
TURN_QUEUED = "turn.queued"
TURN_STARTED = "turn.started"
STEP_STARTED = "step.started"
LLM_CALL_REQUESTED = "llm.call.requested"
LLM_CALL_COMPLETED = "llm.call.completed"
LLM_CALL_ERRORED = "llm.call.errored"
TOOL_CALL_REQUESTED = "tool.call.requested"
TOOL_CALL_COMPLETED = "tool.call.completed"
TOOL_CALL_ERRORED = "tool.call.errored"
CALL_VOIDED = "call.voided"
ASK_USER = "ask_user"
ASK_USER_ANSWERED = "ask_user.answered"
TODO = "todo"
HOOK_COMPLETED = "hook.completed"
CONTEXT_LIMITED = "context.limited"
CONTEXT_REPLACED = "context.replaced"
CONTEXT_KEPT = "context.kept"
STATE_UPDATED = "state.updated"
STEP_COMPLETED = "step.completed"
TURN_PAUSED = "turn.paused"
TURN_COMPLETED = "turn.completed"
ERROR = "error"
DONE = "done"

# Streamed only, `seq` null.
LLM_DELTA = "llm.delta"
FLOW_EMITTED = "flow.emitted"


@dataclass(frozen=True, slots=True)
class Event:
    """One envelope. `seq` is null for what is streamed and not logged; `turn_id` is null outside turns."""

    session_id: str
    seq: int | None
    turn_id: str | None
    at: Instant
    type: str
    data: dict[str, Any]

    def as_dict(self) -> dict[str, Any]:
        """The envelope `{session_id, seq, turn_id, at, type, data}`, `at` in RFC 3339."""
        return {
            "session_id": self.session_id,
            "seq": self.seq,
            "turn_id": self.turn_id,
            "at": rfc3339(self.at),
            "type": self.type,
            "data": self.data,
        }
