"""Every event with its data, as one table, and the page made of it (`python -m agentflow.reading.event_reference`).

A test holds the table against what is told, and the page against the table.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

from agentflow import events


class Described(NamedTuple):
    """An event's data, field by field with `?` behind those that may be left out, and when it is told."""

    data: str
    when: str
    logged: bool = True


_CALL = "call_id, iteration, purpose, model"
STREAMED = False

CATALOGUE: dict[str, Described] = {
    events.SESSION_CREATED: Described("agent_id", "The first input of a session was accepted."),
    events.SESSION_NAMED: Described("name", "The session was given a name; null: it was taken away."),
    events.MESSAGE_NEW: Described("message, parent_id, copied_from?", "A message was recorded under its parent."),
    events.HEAD_MOVED: Described("head_id", "The head went to another message without a new one."),
    events.TURN_QUEUED: Described("turn_id, merged", "An input waits; `merged`: in a turn that waited already."),
    events.TURN_STARTED: Described("turn_id, config_hash", "A turn began, under this configuration."),
    events.STEP_STARTED: Described("order", "A request opened a step."),
    events.LLM_CALL_REQUESTED: Described(_CALL, "A model call is about to be made."),
    events.LLM_CALL_COMPLETED: Described(
        f"{_CALL}, finish_reason, truncated, usage, cost", "Its reply is complete; `truncated`: at the output limit."
    ),
    events.LLM_CALL_ERRORED: Described(f"{_CALL}, code, message, usage", "It gave no reply."),
    events.TOOL_CALL_REQUESTED: Described("id, name, arguments, reply_id", "A recorded reply asks for a tool."),
    events.TOOL_CALL_COMPLETED: Described("id, name, result", "Its result was recorded."),
    events.TOOL_CALL_ERRORED: Described("id, name, error", "Its result is an error, or a placeholder."),
    events.CALL_VOIDED: Described("id, name", "The path was left while the call was open; its result is ignored."),
    events.ASK_USER: Described("tool_call_id, questions", "The turn pauses for its user."),
    events.CLIENT_TOOLS: Described("calls", "The turn pauses for results of its client's tools."),
    events.ASK_USER_ANSWERED: Described("tool_call_id, config_hash", "The pause is over; the turn goes on."),
    events.TODOS_CHANGED: Described("todos", "The agent's todo list, whole."),
    events.HOOK_COMPLETED: Described("point, flow, outcome, duration_ms, error?, tool_call_id?", "A hook has run."),
    events.CONTEXT_LIMITED: Described(
        "reason, strategy?, tokens, window?, call_id?", "The model would read too much; its call is held."
    ),
    events.CONTEXT_REPLACED: Described(
        "summary, kept, copied, tokens_before, tokens_after, head_id, previous_head_id",
        "Room was made on a new branch; going to `previous_head_id` undoes it.",
    ),
    events.CONTEXT_KEPT: Described("reason", "No room was made; the history is what it was."),
    events.HISTORY_REPAIRED: Described(
        "closed, left_out, head_id, previous_head_id", "Rows were damaged from outside; the path goes on beside them."
    ),
    events.STATE_UPDATED: Described("version, head_id", "A worker wrote the agent's state."),
    events.STEP_COMPLETED: Described("order, state", "A step ended, with the state its turn then had."),
    events.TURN_PAUSED: Described("", "The turn waits, in no process."),
    events.TURN_COMPLETED: Described("state, usage, cost, error?, data?", "The turn ended."),
    events.ERROR: Described("code, message, detail", "Why it failed; once, before `done`, never after a stop."),
    events.DONE: Described(
        "turn_id, answer, aborted, pending, limit?, error?, data?, pending_kind?, calls?",
        "The last event of a step; exactly one.",
    ),
    events.LLM_DELTA: Described("call_id, offset, text?, reasoning?, heard?", "A piece of a reply.", STREAMED),
    events.FLOW_EMITTED: Described("name, data, tool_call_id?", "A flow called `ctx.emit`.", STREAMED),
    events.MODEL_LOADING: Described("call_id, model", "The first call of this process loads litellm.", STREAMED),
    events.MODEL_RETRYING: Described(
        "call_id, attempt, error, next_secs", "An attempt of a model call failed; another follows.", STREAMED
    ),
    events.HOOK_STARTED: Described("point, flow, tool_call_id?", "A hook is being called.", STREAMED),
    events.WORKER_RETRYING: Described("attempt, error, next_secs", "An attempt to ask the worker failed.", STREAMED),
}


def page() -> str:
    """The reference page of events, as Markdown."""
    lines = [
        "# Events",
        "",
        "This page is made by `python -m agentflow.reading.event_reference > docs/events.md`.",
        "",
        "An event is `{session_id, seq, turn_id, at, type, data}`, with `at` in UTC. A session numbers its logged",
        "events from 1 without gaps, each in the transaction of what it tells: who has seen `seq` goes on",
        "from there, with `agentflow events SESSION --after SEQ`, in Python `runtime.events(session, after_seq)`.",
        "Events of a sub-agent's run also have `execution`, its number. The events of a turn end with its `done`.",
        "",
        *_table("Logged", logged=True),
        "",
        "Streamed events have no `seq`: they reach who listens in the process that runs the turn, and are not kept.",
        "A reader who joins in the middle of a reply gets what was said so far as one delta.",
        "",
        *_table("Streamed", logged=False),
    ]
    return "\n".join(lines) + "\n"


def _table(title: str, *, logged: bool) -> list[str]:
    rows = [
        f"| `{type_}` | {described.data or '-'} | {described.when} |"
        for type_, described in CATALOGUE.items()
        if described.logged is logged
    ]
    return [f"## {title}", "", "| type | data | when |", "|---|---|---|", *rows]


if __name__ == "__main__":
    sys.stdout.write(page())
