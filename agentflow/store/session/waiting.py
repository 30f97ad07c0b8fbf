"""Inputs that wait in the session's row order, kept as they arrived until their turn starts (C21, C22)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import groupby
from typing import cast

from agentflow import events
from agentflow.bounds.weight import MAX_BYTES
from agentflow.clock import Instant
from agentflow.conversation import queue
from agentflow.conversation.inbox import parse_input, refuse_blank
from agentflow.conversation.queue import Deliverable, Entry
from agentflow.errors import AgentflowError, InvalidInput, StoreError
from agentflow.events import LogEntry
from agentflow.message import TurnState, Usage
from agentflow.store.ended.turn_ended import turn_ended
from agentflow.store.outcomes import Queued
from agentflow.store.requests import Claim
from agentflow.store.rows import changes, inserts
from agentflow.store.session.session_row import SessionRow
from agentflow.store.sql.transaction import Tx
from agentflow.text import compact_json, stored_json

MAX_QUEUED = 1_000  # inputs of a session that wait

_HELD = "SELECT COUNT(*), COALESCE(SUM(LENGTH(input)), 0) FROM queue_entry WHERE session_key = ?"


def enqueue(tx: Tx, session: SessionRow, request: Claim, *, first: bool = False) -> Queued:
    """Record the request behind those that wait, or as part of the last merge turn; the session's row is saved.

    `first` puts it before all of them (C25).
    """
    request.owning.check_inputs(request.input.inputs)
    refuse_blank(request.input)
    request.owning.config(request.input.limits)
    request.owning.check_tools(request.input.options.tools)
    submit = _named(request)
    written = compact_json(submit.as_dict())
    if not first:
        _refuse_too_many(tx, session, written)
    entry, joined = queue.enqueue([] if first else load(tx, session.key), submit, lambda: request.turn_id)
    number = _number(tx, session.key, first=first)
    mode = "merge" if entry.merges else "own"
    after_seq, at = session.seq, request.owning.at
    session.rows.append(inserts.InsertQueueEntry(number, entry.turn_id, mode, written, at))
    if joined and request.turn_id_given and request.turn_id != entry.turn_id:
        session.rows.append(inserts.InsertAlias("turn", request.turn_id, entry.turn_id, None, after_seq))
    if not joined:
        session.queued += 1
    session.tell(events.plain(events.TURN_QUEUED, {"turn_id": entry.turn_id, "merged": joined}))
    session.flush(tx, None, at)
    session.save(tx, at)
    return Queued(entry.turn_id, after_seq)


def _refuse_too_many(tx: Tx, session: SessionRow, coming: str) -> None:
    """Whoever looks at a queue reads all of it (Z3)."""
    count, held = tx.one(_HELD, session.key) if session.queued else (0, 0)
    if count >= MAX_QUEUED or held + len(coming) > MAX_BYTES:
        raise InvalidInput(
            f"queue: {count:,} inputs of {held:,} characters wait in the session; {MAX_QUEUED:,} of together "
            f"{MAX_BYTES:,} may. Wait until some of their turns have run.",
            detail={"field": "queue"},
        )


def waiting(tx: Tx, session: SessionRow, request: Claim) -> Queued | None:
    """The waiting turn that a resent message names (C19)."""
    entry = queue.repeated(load(tx, session.key), cast(Deliverable, request.input))
    return None if entry is None else Queued(entry.turn_id, session.seq, replayed=True)


def is_first(tx: Tx, session: SessionRow, turn_ids: Collection[str] | None) -> bool:
    """Whether a turn waits, and whether the first one is among these, if any are named."""
    first = next(iter(load(tx, session.key)), None) if session.queued else None
    return first is not None and (turn_ids is None or first.turn_id in turn_ids)


def take_first(tx: Tx, session: SessionRow) -> Deliverable:
    """The first entry as one input, out of the queue."""
    first = load(tx, session.key)[0]
    tx.execute("DELETE FROM queue_entry WHERE session_key = ? AND turn_id = ?", session.key, first.turn_id)
    session.queued -= 1
    return queue.delivered(first)


def end_waiting(
    tx: Tx, session: SessionRow, turn_id: str, state: TurnState, at: Instant, error: AgentflowError | None
) -> tuple[LogEntry, ...]:
    """Record the end of a turn that never began; what was told of it."""
    session.turns += 1
    session.steps += 1
    failure = None if error is None else error.as_dict()
    begun = TurnState.RUNNING if error is not None else TurnState.IDLE
    session.rows += (
        inserts.InsertTurn(session.turns, turn_id, begun, "", at, None, session.seq, first_step=session.steps),
        changes.EndTurn(
            state,
            at,
            compact_json(failure) if failure else None,
            None,
            None,
            None,
            None,
            None,
            None,
            session.turns,
            begun,
        ),
        inserts.InsertStep(session.steps, session.turns, state, at, None),
    )
    if failure is not None:
        session.tell(events.error(failure))
    session.tell(
        events.plain(events.STEP_COMPLETED, {"order": session.steps, "state": state}),
        events.turn_completed(state, Usage(), failure),
        events.done(turn_id, None, state, session.steps, failure=failure),
    )
    log = tuple(session.flush(tx, session.turns, at))
    turn_ended(tx, session.key, session.turns)
    return log


def load(tx: Tx, session_key: int) -> list[Entry]:
    """The queue, first to start first."""
    found = tx.all("SELECT turn_id, input FROM queue_entry WHERE session_key = ? ORDER BY number", session_key)
    return [
        _entry(turn_id, [_input(text) for _, text in group])
        for turn_id, group in groupby(found, key=lambda row: str(row[0]))
    ]


def _input(text: str) -> Deliverable:
    try:
        return cast(Deliverable, parse_input(stored_json(text)))
    except InvalidInput as error:  # it was parsed before it was stored
        raise StoreError(f"What waits in the queue is no input: {error.message}", detail={"damaged": True}) from None


def _entry(turn_id: str, inputs: Sequence[Deliverable]) -> Entry:
    """The turn ids of submits that joined a merge are other names of its turn (C22)."""
    named = (waiting.turn_id for waiting in inputs if waiting.turn_id is not None)
    return Entry(turn_id, tuple(inputs), tuple(name for name in named if name != turn_id))


def _named(request: Claim) -> Deliverable:
    return cast(Deliverable, replace(request.input, turn_id=request.turn_id))


def _number(tx: Tx, session_key: int, *, first: bool) -> int:
    lowest, highest = tx.one(
        "SELECT coalesce(min(number), 1), coalesce(max(number), 0) FROM queue_entry WHERE session_key = ?", session_key
    )
    return int(lowest) - 1 if first else int(highest) + 1
