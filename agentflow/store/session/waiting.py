"""Inputs that wait in the session's row order, kept as they arrived until their turn starts (C21, C22)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from typing import cast

from agentflow import events
from agentflow.clock import Instant
from agentflow.conversation import queue
from agentflow.conversation.inbox import parse_input
from agentflow.conversation.queue import Deliverable, Entry
from agentflow.errors import AgentflowError
from agentflow.message import TurnState, Usage
from agentflow.store import rows
from agentflow.store.records import Queued
from agentflow.store.requests import Claim
from agentflow.store.session.session_row import Work
from agentflow.store.sql.transaction import Tx
from agentflow.text import compact_json


def enqueue(tx: Tx, work: Work, request: Claim, *, first: bool = False) -> Queued:
    """Record the request behind those that wait, or as part of the last merge turn; the session's row is saved.

    `first` puts it before all of them (C25).
    """
    request.owning.check_inputs(request.input.inputs)
    submit = _named(request)
    entry, joined = queue.enqueue([] if first else load(tx, work.key), submit, lambda: request.turn_id)
    number = _number(tx, work.key, first=first)
    mode = "merge" if entry.merges else "own"
    after_seq, at = work.seq, request.owning.at
    work.rows.append(rows.InsertQueueEntry(number, entry.turn_id, mode, compact_json(submit.as_dict()), at))
    if joined and request.turn_id_given and request.turn_id != entry.turn_id:
        work.rows.append(rows.InsertAlias("turn", request.turn_id, entry.turn_id))
    if not joined:
        work.queued += 1
    work.tell(events.plain(events.TURN_QUEUED, {"turn_id": entry.turn_id, "merged": joined}))
    work.flush(tx, None, at)
    work.save(tx, at)
    return Queued(entry.turn_id, after_seq)


def waiting(tx: Tx, work: Work, request: Claim) -> Queued | None:
    """The waiting turn that a resent request names (C19)."""
    entry = queue.repeated(load(tx, work.key), _named(request) if request.turn_id_given else _bare(request))
    return None if entry is None else Queued(entry.turn_id, work.seq, replayed=True)


def is_first(tx: Tx, work: Work, turn_id: str | None) -> bool:
    """Whether a turn waits, and whether the first one is this turn, if one is named."""
    first = next(iter(load(tx, work.key)), None) if work.queued else None
    return first is not None and turn_id in (None, first.turn_id, *first.aliases)


def take_first(tx: Tx, work: Work) -> Deliverable:
    """The first entry as one input, out of the queue."""
    first = load(tx, work.key)[0]
    tx.execute("DELETE FROM queue_entry WHERE session_key = ? AND turn_id = ?", work.key, first.turn_id)
    work.queued -= 1
    return queue.delivered(first)


def end_waiting(work: Work, turn_id: str, state: TurnState, at: Instant, error: AgentflowError | None) -> int:
    """Record the end of a turn that never began, and tell whoever waits for it; returns the turn's number.

    Its entries are staged in `work`.
    """
    work.turns += 1
    work.steps += 1
    failure = None if error is None else error.as_dict()
    begun = TurnState.RUNNING if error is not None else TurnState.IDLE
    work.rows += (
        rows.InsertTurn(work.turns, turn_id, begun, "", at, None, work.seq),
        rows.EndTurn(
            state, at, compact_json(failure) if failure else None, None, None, None, None, None, None, work.turns, begun
        ),
        rows.InsertStep(work.steps, work.turns, state, at, None),
    )
    if failure is not None:
        work.tell(events.error(failure))
    work.tell(
        events.plain(events.STEP_COMPLETED, {"order": work.steps, "state": state}),
        events.turn_completed(state, Usage(), failure),
        events.done(turn_id, None, state, work.steps, failure=failure),
    )
    return work.turns


def load(tx: Tx, session_key: int) -> list[Entry]:
    """The queue, first to start first."""
    found = tx.all("SELECT turn_id, input FROM queue_entry WHERE session_key = ? ORDER BY number", session_key)
    return [
        _entry(turn_id, [cast(Deliverable, parse_input(json.loads(text))) for _, text in group])
        for turn_id, group in groupby(found, key=lambda row: str(row[0]))
    ]


def _entry(turn_id: str, inputs: Sequence[Deliverable]) -> Entry:
    """The turn ids of submits that joined a merge are other names of its turn (C22)."""
    named = (waiting.turn_id for waiting in inputs if waiting.turn_id is not None)
    return Entry(turn_id, tuple(inputs), tuple(name for name in named if name != turn_id))


def _named(request: Claim) -> Deliverable:
    return cast(Deliverable, replace(request.input, turn_id=request.turn_id))


def _bare(request: Claim) -> Deliverable:
    return cast(Deliverable, request.input)


def _number(tx: Tx, session_key: int, *, first: bool) -> int:
    lowest, highest = tx.one(
        "SELECT coalesce(min(number), 1), coalesce(max(number), 0) FROM queue_entry WHERE session_key = ?", session_key
    )
    return int(lowest) - 1 if first else int(highest) + 1
