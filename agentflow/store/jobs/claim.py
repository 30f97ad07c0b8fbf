"""The claim: one transaction that makes a session ours and opens a turn's step, or says why not (T4, T27-T30).

In order (C19): another agent's name is refused, a request made before is answered, a live turn refuses or queues
it; a turn whose owner is gone is repaired; then the input is merged against the path of this moment, and it starts
a turn, answers the question the path waits for, or waits in the queue behind what came first.
"""

from __future__ import annotations

from dataclasses import replace

from agentflow.conversation.inbox import AskUserAnswer, ClientMessage
from agentflow.errors import SessionAgentMismatch
from agentflow.store.records import Claimed, Queued, Replayed
from agentflow.store.requests import Claim, Owning
from agentflow.store.session.begin_again import begin_again, unbegun
from agentflow.store.session.open_step import OpenStep
from agentflow.store.session.refusals import refuse_busy, refuse_closed
from agentflow.store.session.session_row import SessionRow
from agentflow.store.session.waiting import enqueue, is_first, waiting
from agentflow.store.sql.transaction import Tx


def claim(tx: Tx, request: Claim) -> Claimed | Replayed | Queued:
    """Run the claim. Raises what the input is refused with; then nothing is written."""
    owning = request.owning
    session = SessionRow.locked(tx, request.session_id) or SessionRow.made(
        tx, request.session_id, owning.agent, request.environment, owning.at
    )
    _refuse_other_agent(session, request)
    if not session.created and (replayed := _replayed(tx, session, request)) is not None:
        return _again(tx, session, request, replayed) or replayed
    given = request.input
    waits, interrupts = bool(getattr(given, "queue", False)), bool(getattr(given, "interrupt", False))
    if session.turn is not None and (running := _running(tx, session, request.owning)) is not None:
        if isinstance(given, AskUserAnswer):
            refuse_closed(tx, session.key, given.tool_call_id, owning.at)
        if interrupts:
            session.stop_turn = running
            return replace(enqueue(tx, session, request, first=True), stopping=running)
        if waits:
            return enqueue(tx, session, request)
        refuse_busy(session, request.session_id, running, request.owning.at)
    if not interrupts and not isinstance(given, AskUserAnswer) and (found := unbegun(tx, session, owning)) is not None:
        queued = enqueue(tx, session, request)
        return replace(queued, started=begin_again(tx, session, owning, found))
    started = OpenStep(tx, session, owning)
    started.repair_dead()
    started.expire_question()
    started.stop_as_asked()
    if interrupts:
        started.stop_question()
    elif waits and started.paused_here() is not None:
        return enqueue(tx, session, request)
    elif session.queued and started.paused_here() is None and not isinstance(given, AskUserAnswer):
        queued = enqueue(tx, session, request)
        return replace(queued, started=start_first(tx, session, owning))
    return started.begin(given, request.turn_id)


def start_first(tx: Tx, session: SessionRow, owning: Owning) -> Claimed | None:
    """OpenStep the first entry of an idle session's queue, unless the path waits for an answer (C21)."""
    started = OpenStep(tx, session, owning)
    started.stop_as_asked()
    return started.first_waiting()


def take_up(tx: Tx, session_id: str, owning: Owning, turn_id: str | None) -> Claimed | None:
    """OpenStep the first entry of a queue that nobody serves, once the turn of a dead owner is repaired (C21).

    With `turn_id` only when that is the first.
    """
    session = SessionRow.locked(tx, session_id)
    if (
        session is None
        or not is_first(tx, session, turn_id)
        or (session.turn is not None and _running(tx, session, owning) is not None)
    ):
        return None
    if (found := unbegun(tx, session, owning)) is not None:
        return begin_again(tx, session, owning, found)
    started = OpenStep(tx, session, owning)
    started.repair_dead()
    started.expire_question()
    started.stop_as_asked()
    claimed = started.first_waiting()
    if claimed is None:
        session.release()
        session.save(tx, owning.at)
    return claimed


def _refuse_other_agent(session: SessionRow, request: Claim) -> None:
    if session.agent != request.owning.agent:
        raise SessionAgentMismatch(
            f"Session {request.session_id!r} belongs to agent {session.agent!r}, not {request.owning.agent!r}; "
            "use a new session id for another agent.",
            detail={"session_id": request.session_id, "agent_id": session.agent},
        )


def _replayed(tx: Tx, session: SessionRow, request: Claim) -> Replayed | Queued | None:
    """The turn that this request already has, by its turn id or by the id of its only message (C19)."""
    message = request.input.message if isinstance(request.input, ClientMessage) else None
    if request.turn_id_given:
        found = tx.one(
            "SELECT turn.id, turn.after_seq FROM turn WHERE session_key = ? AND id = coalesce((SELECT target FROM "
            "alias WHERE session_key = ? AND kind = 'turn' AND alias = ?), ?)",
            session.key, session.key, request.turn_id, request.turn_id,
        )  # fmt: skip
    elif message is not None and message.id:
        found = tx.one(
            "SELECT turn.id, turn.after_seq FROM message JOIN turn ON turn.session_key = message.session_key "
            "AND turn.number = message.turn WHERE message.session_key = ? AND message.id = coalesce((SELECT target "
            "FROM alias WHERE session_key = ? AND kind = 'message' AND alias = ?), ?)",
            session.key, session.key, message.id, message.id,
        )  # fmt: skip
    else:
        return None
    if found is not None:
        return Replayed(*found)
    return waiting(tx, session, request) if session.queued else None


def _again(tx: Tx, session: SessionRow, request: Claim, replayed: Replayed | Queued) -> Claimed | None:
    """A request that is sent again for a turn whose process died before it began (T30)."""
    if (
        session.turn is None
        or replayed.turn_id != session.turn_id(tx)
        or _running(tx, session, request.owning) is not None
    ):
        return None
    found = unbegun(tx, session, request.owning)
    return None if found is None else begin_again(tx, session, request.owning, found)


def _running(tx: Tx, session: SessionRow, owning: Owning) -> str | None:
    """The id of the live turn that has the session."""
    turn_id = session.turn_id(tx)
    return turn_id if owning.alive(session.owner or "", session.lease_until or 0, turn_id) else None
