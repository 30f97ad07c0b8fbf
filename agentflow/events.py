"""The event catalogue: what a session's log can hold, in the envelope every reader gets (T40, T41)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from agentflow.clock import Instant, rfc3339
from agentflow.message import Message, ToolCall, TurnState, Usage, text_of

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
CLIENT_TOOLS = "client_tools"
ASK_USER_ANSWERED = "ask_user.answered"
TODOS_CHANGED = "todo"
HOOK_COMPLETED = "hook.completed"
CONTEXT_LIMITED = "context.limited"
CONTEXT_REPLACED = "context.replaced"
CONTEXT_KEPT = "context.kept"
HISTORY_REPAIRED = "history.repaired"
STATE_UPDATED = "state.updated"
STEP_COMPLETED = "step.completed"
TURN_PAUSED = "turn.paused"
TURN_COMPLETED = "turn.completed"
ERROR = "error"
DONE = "done"

# Streamed only, `seq` null.
LLM_DELTA = "llm.delta"
FLOW_EMITTED = "flow.emitted"
MODEL_LOADING = "model.loading"  # {call_id, model}: the first call of this process waits for litellm's import
MODEL_RETRYING = "model.retrying"  # {call_id, attempt, error, next_secs}: an attempt of a model call failed (T16)
HOOK_STARTED = "hook.started"  # {point, flow, tool_call_id?}: a hook is being called; its end is logged (T37)
WORKER_RETRYING = "worker.retrying"  # {attempt, error, next_secs}: an attempt to ask the worker failed (C34)


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


class LogEntry(NamedTuple):
    """An event on its way into the log: the store keeps `ref` and `stored`, live readers get `full` at once.

    A reader of the log rebuilds `full` from `ref` and `stored` by the same function that made the entry. `at` is when
    it happened; 0, at the time of the commit that logs it.
    """

    type: str
    full: dict[str, Any]
    ref: str | None = None
    stored: dict[str, Any] | None = None
    at: Instant = 0


def happened(entries: Iterable[LogEntry], at: Instant) -> list[LogEntry]:
    """The entries, those that have no time of their own at this one."""
    return [entry if entry.at else LogEntry(*entry[:-1], at) for entry in entries]


SUB_EXECUTION = "sub"


def of_execution(entry: LogEntry, execution: int) -> LogEntry:
    """The entry of a sub-agent's run, which carries the run's number as `execution`."""
    full, stored = entry.full | {"execution": execution}, (entry.stored or {}) | {SUB_EXECUTION: execution}
    return entry._replace(full=full, stored=stored)


def plain(type_: str, data: dict[str, Any]) -> LogEntry:
    """An event without texts: what is stored is what is read."""
    return LogEntry(type_, data, None, data or None)


def turn_started(turn_id: str, config_hash: str) -> LogEntry:
    """`{turn_id, config_hash}`, read back from the turn's row."""
    return LogEntry(TURN_STARTED, {"turn_id": turn_id, "config_hash": config_hash})


def message_new(message: Message, parent_id: str | None, copied_from: str | None = None) -> LogEntry:
    """`{message, parent_id, copied_from?}`; `ref` is the message's id."""
    full: dict[str, Any] = {"message": message.as_dict(), "parent_id": parent_id}
    if copied_from is not None:
        full["copied_from"] = copied_from
    return LogEntry(MESSAGE_NEW, full, message.id)


def tool_call_requested(call: ToolCall, reply_id: str) -> LogEntry:
    """`{id, name, arguments, reply_id}`; `ref` is the reply's id, the arguments stand in its message."""
    full = {"id": call.id, "name": call.name, "arguments": call.arguments, "reply_id": reply_id}
    return LogEntry(TOOL_CALL_REQUESTED, full, reply_id, {"id": call.id})


def tool_call_ended(result: Message, *, ok: bool) -> LogEntry:
    """`tool.call.completed {id, name, result}` or `tool.call.errored {id, name, error}`; `ref` is the result's id."""
    key = "result" if ok else "error"
    full = {"id": result.tool_call_id, "name": result.name, key: text_of(result.content)}
    return LogEntry(TOOL_CALL_COMPLETED if ok else TOOL_CALL_ERRORED, full, result.id)


def ask_user(call_id: str, questions: list[dict[str, Any]], execution: int) -> LogEntry:
    """`{tool_call_id, questions}`; `ref` is the call, the questions stand in its question row."""
    full = {"tool_call_id": call_id, "questions": questions}
    return LogEntry(ASK_USER, full, call_id, {"execution": execution})


def client_tools(call_id: str, calls: list[dict[str, Any]], execution: int) -> LogEntry:
    """`{calls: [{tool_call_id, name, arguments}]}`; `ref` is the first call, the others stand in the pause's row."""
    return LogEntry(CLIENT_TOOLS, {"calls": calls}, call_id, {"execution": execution})


def ask_user_answered(call_id: str, config_hash: str) -> LogEntry:
    """`{tool_call_id, config_hash}`: the configuration the turn goes on with, which may have changed (A7)."""
    return plain(ASK_USER_ANSWERED, {"tool_call_id": call_id, "config_hash": config_hash})


def todo(todos: list[dict[str, Any]], execution: int, number: int) -> LogEntry:
    """`{todos}`; `ref` is `execution:number` of the stored list, absent for a list that was dropped."""
    return LogEntry(TODOS_CHANGED, {"todos": todos}, f"{execution}:{number}" if number else None)


def context_limited(
    call_id: str | None, reason: str, strategy: str | None, tokens: int, window: int | None
) -> LogEntry:
    """`{reason, strategy?, tokens, window?, call_id}`: the call is held until room is made or not (X20); no `call_id`
    when it is not recorded yet.
    """
    told = {"reason": reason, "strategy": strategy, "tokens": tokens, "window": window, "call_id": call_id}
    return plain(CONTEXT_LIMITED, {key: value for key, value in told.items() if value is not None})


def context_replaced(summary: str | None, summary_id: str | None, figures: dict[str, Any]) -> LogEntry:
    """`{summary, kept, copied, tokens_before, tokens_after, head_id, previous_head_id}`; `ref` is the summary's
    message. `kept` counts the messages after the summary, `copied` those of them that are copies (X20).
    """
    return LogEntry(CONTEXT_REPLACED, {"summary": summary, **figures}, summary_id, figures)


def history_repaired(
    closed: Iterable[str], left_out: Iterable[str], head_id: str | None, previous_head_id: str | None
) -> LogEntry:
    """`{closed, left_out, head_id, previous_head_id}`: calls that had no result, ids of results that had no call."""
    said = {"closed": list(closed), "left_out": list(left_out)}
    return plain(HISTORY_REPAIRED, {**said, "head_id": head_id, "previous_head_id": previous_head_id})


def context_kept(reason: str) -> LogEntry:
    """`{reason}`: the history stays as it is (X9)."""
    return plain(CONTEXT_KEPT, {"reason": reason})


def error(failure: dict[str, Any]) -> LogEntry:
    """`{code, message, detail}`, read back from the turn's row."""
    return LogEntry(ERROR, failure)


def turn_completed(state: str, usage: Usage, failure: dict[str, Any] | None, data: Any = None) -> LogEntry:
    """`{state, usage, cost, error?, data?}`, read back from the turn's row."""
    full: dict[str, Any] = {
        "state": state,
        "usage": usage.as_dict(),
        "cost": None if usage.cost is None else str(usage.cost),
    }
    if failure is not None:
        full["error"] = failure
    if data is not None:
        full["data"] = data
    return LogEntry(TURN_COMPLETED, full)


def done(
    turn_id: str,
    answer: str | None,
    state: str,
    step: int,
    *,
    limit: str | None = None,
    failure: dict[str, Any] | None = None,
    data: Any = None,
) -> LogEntry:
    """`{turn_id, answer, aborted, pending, limit?, error?, data?}`, one a step; `ref` is the step's number (T41).

    A pause is stored too: a stop may end its step and turn later (T25).
    """
    full: dict[str, Any] = {
        "turn_id": turn_id,
        "answer": answer,
        "aborted": state == TurnState.ABORTED,
        "pending": state == TurnState.PAUSED_ASK_USER,
    }
    if limit is not None:
        full["limit"] = limit
    if failure is not None:
        full["error"] = failure
    if data is not None:
        full["data"] = data
    return LogEntry(DONE, full, str(step), {"pending": True} if full["pending"] else None)


def hook_completed(
    step: int, number: int, *, point: str, flow: str, outcome: str, milliseconds: int, error: str | None,
    tool_call_id: str | None,
) -> LogEntry:  # fmt: skip
    """`{point, flow, outcome, duration_ms, error?, tool_call_id?}`; `ref` is `step:number` of the hook's run."""
    told: dict[str, Any] = {"point": point, "flow": flow, "outcome": outcome, "duration_ms": milliseconds}
    told |= {} if error is None else {"error": error}
    told |= {} if tool_call_id is None else {"tool_call_id": tool_call_id}
    return LogEntry(HOOK_COMPLETED, told, f"{step}:{number}", told)


def step_started(step: int) -> LogEntry:
    """`{order}`."""
    return plain(STEP_STARTED, {"order": step})


class ModelCall(NamedTuple):
    """The model call that an event tells of; what is read back stands in its row."""

    call_id: str
    iteration: int | None
    purpose: str | None
    model: str | None


def llm_call_requested(call: ModelCall) -> LogEntry:
    """`{call_id, iteration, purpose, model}`; `ref` is the call's id."""
    return LogEntry(LLM_CALL_REQUESTED, call._asdict(), call.call_id)


def llm_call_completed(call: ModelCall, finish_reason: str | None, usage: Usage) -> LogEntry:
    """`{call_id, iteration, purpose, model, finish_reason, truncated, usage, cost}`; `ref` is the call's id."""
    full = call._asdict() | {
        "finish_reason": finish_reason,
        "truncated": finish_reason == "length",
        "usage": usage.as_dict(),
        "cost": None if usage.cost is None else str(usage.cost),
    }
    return LogEntry(LLM_CALL_COMPLETED, full, call.call_id)


def llm_call_errored(call: ModelCall, failure: dict[str, Any], usage: Usage) -> LogEntry:
    """`{call_id, iteration, purpose, model, code, message, usage}`; `ref` is the call's id."""
    said = {"code": failure.get("code"), "message": failure.get("message"), "usage": usage.as_dict()}
    return LogEntry(LLM_CALL_ERRORED, call._asdict() | said, call.call_id)
