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
from agentflow.store.session.open_step import Start
from agentflow.store.session.refusals import refuse_answered, refuse_busy
from agentflow.store.session.session_row import Work
from agentflow.store.session.waiting import enqueue, is_first, waiting
from agentflow.store.sql.transaction import Tx


def claim(tx: Tx, request: Claim) -> Claimed | Replayed | Queued:
    """Run the claim. Raises what the input is refused with; then nothing is written."""
    owning = request.owning
    work = Work.locked(tx, request.session_id) or Work.made(
        tx, request.session_id, owning.agent, request.environment, owning.at
    )
    _refuse_other_agent(work, request)
    if not work.created and (replayed := _replayed(tx, work, request)) is not None:
        return _again(tx, work, request, replayed) or replayed
    given = request.input
    waits, interrupts = bool(getattr(given, "queue", False)), bool(getattr(given, "interrupt", False))
    if work.turn is not None and (running := _running(tx, work, request.owning)) is not None:
        if isinstance(given, AskUserAnswer):
            refuse_answered(tx, work.key, given.tool_call_id)
        if interrupts:
            work.stop_turn = running
            return replace(enqueue(tx, work, request, first=True), stopping=running)
        if waits:
            return enqueue(tx, work, request)
        refuse_busy(work, request.session_id, running, request.owning.at)
    if not interrupts and not isinstance(given, AskUserAnswer) and (found := unbegun(tx, work, owning)) is not None:
        queued = enqueue(tx, work, request)
        return replace(queued, started=begin_again(tx, work, owning, found))
    started = Start(tx, work, owning)
    started.repair_dead()
    started.expire_question()
    started.stop_as_asked()
    if interrupts:
        started.stop_question()
    elif waits and started.paused_here() is not None:
        return enqueue(tx, work, request)
    elif work.queued and started.paused_here() is None and not isinstance(given, AskUserAnswer):
        queued = enqueue(tx, work, request)
        return replace(queued, started=start_first(tx, work, owning))
    return started.begin(given, request.turn_id)


def start_first(tx: Tx, work: Work, owning: Owning) -> Claimed | None:
    """Start the first entry of an idle session's queue, unless the path waits for an answer (C21)."""
    started = Start(tx, work, owning)
    started.stop_as_asked()
    return started.first_waiting()


def take_up(tx: Tx, session_id: str, owning: Owning, turn_id: str | None) -> Claimed | None:
    """Start the first entry of a queue that nobody serves, once the turn of a dead owner is repaired (C21).

    With `turn_id` only when that is the first.
    """
    work = Work.locked(tx, session_id)
    if (
        work is None
        or not is_first(tx, work, turn_id)
        or (work.turn is not None and _running(tx, work, owning) is not None)
    ):
        return None
    if (found := unbegun(tx, work, owning)) is not None:
        return begin_again(tx, work, owning, found)
    started = Start(tx, work, owning)
    started.repair_dead()
    started.expire_question()
    started.stop_as_asked()
    claimed = started.first_waiting()
    if claimed is None:
        work.release()
        work.save(tx, owning.at)
    return claimed


def _refuse_other_agent(work: Work, request: Claim) -> None:
    if work.agent != request.owning.agent:
        raise SessionAgentMismatch(
            f"Session {request.session_id!r} belongs to agent {work.agent!r}, not {request.owning.agent!r}; "
            "use a new session id for another agent.",
            detail={"session_id": request.session_id, "agent_id": work.agent},
        )


def _replayed(tx: Tx, work: Work, request: Claim) -> Replayed | Queued | None:
    """The turn that this request already has, by its turn id or by the id of its only message (C19)."""
    message = request.input.message if isinstance(request.input, ClientMessage) else None
    if request.turn_id_given:
        found = tx.one(
            "SELECT turn.id, turn.after_seq FROM turn WHERE session_key = ? AND id = coalesce((SELECT target FROM "
            "alias WHERE session_key = ? AND kind = 'turn' AND alias = ?), ?)",
            work.key, work.key, request.turn_id, request.turn_id,
        )  # fmt: skip
    elif message is not None and message.id:
        found = tx.one(
            "SELECT turn.id, turn.after_seq FROM message JOIN turn ON turn.session_key = message.session_key "
            "AND turn.number = message.turn WHERE message.session_key = ? AND message.id = coalesce((SELECT target "
            "FROM alias WHERE session_key = ? AND kind = 'message' AND alias = ?), ?)",
            work.key, work.key, message.id, message.id,
        )  # fmt: skip
    else:
        return None
    if found is not None:
        return Replayed(*found)
    return waiting(tx, work, request) if work.queued else None


def _again(tx: Tx, work: Work, request: Claim, replayed: Replayed | Queued) -> Claimed | None:
    """A request that is sent again for a turn whose process died before it began (T30)."""
    if work.turn is None or replayed.turn_id != work.turn_id(tx) or _running(tx, work, request.owning) is not None:
        return None
    found = unbegun(tx, work, request.owning)
    return None if found is None else begin_again(tx, work, request.owning, found)


def _running(tx: Tx, work: Work, owning: Owning) -> str | None:
    """The id of the live turn that has the session."""
    turn_id = work.turn_id(tx)
    return turn_id if owning.alive(work.owner or "", work.lease_until or 0, turn_id) else None
