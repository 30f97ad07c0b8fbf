"""Stopping a turn from outside its task, and emptying the queue (T23, T25, C24)."""

from __future__ import annotations

from dataclasses import replace

from agentflow.conversation.repair import ABORTED_BY_USER
from agentflow.errors import no_session
from agentflow.message import TurnState
from agentflow.store.jobs.claim import wake
from agentflow.store.outcomes import Stopped
from agentflow.store.reads.questions import pending_questions
from agentflow.store.reads.turns import resolve
from agentflow.store.requests import Stop
from agentflow.store.session.close_turn import close_paused, repair_and_release
from agentflow.store.session.session_row import SessionRow
from agentflow.store.session.waiting import end_waiting, load
from agentflow.store.sql.transaction import Tx

STOPPED = "the user stopped the turn."


def stop(tx: Tx, request: Stop) -> Stopped:
    """Ask a live turn to end, close a dead or paused one; a turn that has ended is left alone (T25).

    What is closed here starts the next turn of the queue (C24).
    """
    session = SessionRow.locked(tx, request.session_id)
    if session is None:
        raise no_session(request.session_id)
    request = _named(tx, session, request)
    drained = _take_out(tx, session, request)
    if request.turn_id in drained:
        session.save(tx, request.at)
        return Stopped(request.turn_id, ended=True, drained=drained)
    stopped = _stop_running(tx, session, request) if session.turn is not None else _stop_paused(tx, session, request)
    started = wake(tx, session, request.wake) if stopped.ended else None
    if started is None and (drained or stopped.requested or stopped.ended):
        session.save(tx, request.at)
    return replace(stopped, drained=drained, started=started)


def _named(tx: Tx, session: SessionRow, request: Stop) -> Stop:
    """The same request with the turn's own id, whichever name was given for it."""
    ref = None if request.turn_id is None else resolve(tx, session.key, request.turn_id)
    return request if ref is None else replace(request, turn_id=ref.id)


def _stop_running(tx: Tx, session: SessionRow, request: Stop) -> Stopped:
    turn_id = session.turn_id(tx)
    if request.turn_id not in (None, turn_id):
        return Stopped(None)
    if request.alive(session.owner or "", session.lease_until or 0, turn_id):
        session.stop_turn = turn_id
        return Stopped(turn_id, requested=True)
    repair_and_release(tx, session, request.at, request.new_id)
    return Stopped(turn_id, ended=True)


def _stop_paused(tx: Tx, session: SessionRow, request: Stop) -> Stopped:
    for paused in pending_questions(tx, session.key):
        if paused.place == session.head and request.turn_id in (None, paused.turn_id):
            close_paused(
                tx, session, paused.turn, request.at, request.new_id, STOPPED,
                ABORTED_BY_USER, None,
            )  # fmt: skip
            return Stopped(paused.turn_id, ended=True)
    return Stopped(None)


def _take_out(tx: Tx, session: SessionRow, request: Stop) -> tuple[str, ...]:
    """Waiting turns end aborted without having begun: all of them to drain the queue, or the one that is named."""
    entries = load(tx, session.key) if session.queued else []
    out = tuple(entry.turn_id for entry in entries if request.drain or entry.turn_id == request.turn_id)
    for turn_id in out:
        tx.execute("DELETE FROM queue_entry WHERE session_key = ? AND turn_id = ?", session.key, turn_id)
        session.queued -= 1
        end_waiting(tx, session, turn_id, TurnState.ABORTED, request.at, None)
    return out
