"""What reads tell of a session and its steps, from their records. Pure but for the time and who is alive."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agentflow import clock
from agentflow.conversation.pauses import awaited
from agentflow.conversation.queue import Entry, delivered
from agentflow.live.owner import is_alive
from agentflow.message import ENDED, TurnState, Usage, text_of
from agentflow.result import TurnResult
from agentflow.store.records import CallLeftOpen, PendingPause, SessionRecord, StepRecord
from agentflow.text import digest

STANDING_STILL = ENDED | {TurnState.PAUSED_ASK_USER}
"""A turn in one of these states has nobody who works on it."""


def is_running(record: SessionRecord) -> bool:
    return record.running_turn is not None and is_alive(
        record.owner or "", record.lease_until or 0, record.running_turn
    )


def is_dead(record: SessionRecord, step: StepRecord) -> bool:
    """Whether the turn runs by its rows and its owner is gone.

    Session and step are read one after the other: a session that does not name the turn says nothing about it.
    """
    return record.running_turn == step.turn_id and not is_running(record)


def status_of(record: SessionRecord) -> dict[str, Any]:
    """A dead turn is shown as aborted (T29), a paused one as what it asks (T21)."""
    pending = open_pause(record)
    status = "idle" if pending is None else str(TurnState.PAUSED_ASK_USER)
    if record.running_turn is not None:
        status = "running" if is_running(record) else "aborted"
    return {
        "session_id": record.id,
        "agent_id": record.agent,
        "name": record.name,
        "status": status,
        "turn_id": record.running_turn if pending is None else pending.turn_id,
        **awaited.status_of(None if pending is None else pending.awaited),
        "expires_at": None if pending is None or pending.expires_at is None else clock.rfc3339(pending.expires_at),
        "queued": record.queued,
        "owner": record.belongs_to,
        "head_id": record.head_id,
        "seq": record.seq,
        "log_id": log_id_of(record),
    }


def log_id_of(record: SessionRecord) -> str:
    """Six hex digits that tell this log from that of an erased session of the same id (R12)."""
    return digest(f"{record.key} {record.created_at}")[:6]


def open_pause(record: SessionRecord) -> PendingPause | None:
    """What the active path waits for, unless its time is over (T21)."""
    pending = record.pending
    if pending is None or record.running_turn is not None:
        return None
    return None if pending.is_over(clock.instant()) else pending


def outcome_of(record: SessionRecord) -> str | None:
    """How the session's last turn ended; one whose time to wait is over is aborted, as its next request finds it."""
    if record.outcome != TurnState.PAUSED_ASK_USER or record.pending is None:
        return record.outcome
    return str(TurnState.ABORTED) if record.pending.is_over(clock.instant()) else record.outcome


def _over(step: StepRecord) -> PendingPause | None:
    """What the step's turn waited for, once the time is over."""
    return step.pause if step.pause is not None and step.pause.is_over(clock.instant()) else None


def turn_state(record: SessionRecord, step: StepRecord) -> TurnState:
    """How a turn stands by its last step: aborted once its process is gone or its time to wait is over."""
    return TurnState.ABORTED if _over(step) or is_dead(record, step) else TurnState(step.turn_state)


def step_dict(step: StepRecord) -> dict[str, Any]:
    return {
        "order": step.number,
        "turn_id": step.turn_id,
        "status": step.state if _over(step) is None else str(TurnState.ABORTED),
        "opened_at": clock.rfc3339(step.opened_at),
        "completed_at": None if step.completed_at is None else clock.rfc3339(step.completed_at),
        "first_token_ms": step.first_token_ms,
        "user_message_id": step.user_message_id,
        "answer": step.answer,
        "message_id": step.answer_id,
        "limit": step.limit,
    }


def totals(steps: list[StepRecord], naming: Usage) -> dict[str, Any]:
    """Sums over the turns, each counted once though it may have several steps, and what naming the session used."""
    by_turn = {step.turn: step.usage for step in steps}
    usage = sum(by_turn.values(), start=naming)
    return {**usage.as_dict(), "cost": None if usage.cost is None else str(usage.cost), "turns": len(by_turn)}


def result_of(session_id: str, step: StepRecord, state: str) -> TurnResult:
    error, over = step.error, _over(step)
    if over is not None:
        state, error = TurnState.ABORTED, over.awaited.expired().as_dict()
    waits = step.pause.awaited if step.pause is not None and over is None else None
    return TurnResult(
        session_id,
        step.turn_id,
        step.number,
        str(state),
        step.answer,
        step.usage,
        None if waits is None else waits.question(),
        limit=step.limit,
        error=error,
        message_id=step.answer_id,
        truncated=step.is_cut and state == TurnState.DONE,
        data=step.data,
        pending_kind=None if waits is None else waits.kind,
        calls=() if waits is None else waits.call_dicts(),
    )


def queue_dicts(waiting: Sequence[Entry]) -> list[dict[str, Any]]:
    """`[{turn_id, kind, texts}]` of the turns that wait: the type of the input each will be given, and what it says."""
    return [
        {
            "turn_id": entry.turn_id,
            "kind": given.type,
            "texts": [text for message in given.messages if (text := text_of(message.content))],
        }
        for entry in waiting
        for given in (delivered(entry),)
    ]


def open_call_dicts(calls: Sequence[CallLeftOpen]) -> list[dict[str, Any]]:
    """`[{id, name, arguments, handler}]` of the calls whose results come from outside."""
    return [
        {"id": each.call.id, "name": each.call.name, "arguments": each.call.arguments, "handler": each.handler}
        for each in calls
    ]
