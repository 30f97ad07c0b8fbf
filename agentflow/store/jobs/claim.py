"""The claim: one transaction that makes a session ours and opens a turn's step, or says why not (T4, T27-T30).

In order (C19): another agent's name is refused, a request made before is answered, a live turn refuses or queues
it; a turn whose owner is gone is repaired; then the input is merged against the path of this moment, and it starts
a turn, answers the question the path waits for, or waits in the queue behind what came first.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from agentflow.conversation.inbox import AskUserAnswer, ClientAppend, ClientMessage, ClientMessages, Input
from agentflow.errors import SessionAgentMismatch, no_session
from agentflow.store.outcomes import Claimed, Given, Queued, Recorded, Refused, Replayed
from agentflow.store.reads.turns import resolve
from agentflow.store.requests import Claim, Owning, Wake
from agentflow.store.session.begin_again import begin_again, unbegun
from agentflow.store.session.client_results import repeated
from agentflow.store.session.open_step import OpenStep
from agentflow.store.session.refusals import refuse_busy, refuse_closed, refuse_moved, refuse_roles
from agentflow.store.session.session_row import SessionRow
from agentflow.store.session.waiting import enqueue, is_first, waiting
from agentflow.store.sql.transaction import Tx

_DELIVERED = (
    "SELECT turn.id, turn.after_seq FROM message JOIN turn ON turn.session_key = message.session_key "
    "AND turn.number = message.turn WHERE message.session_key = ? AND message.id = coalesce((SELECT target "
    "FROM alias WHERE session_key = ? AND kind = 'message' AND alias = ?), ?)"
)


def claim(tx: Tx, request: Claim) -> Claimed | Replayed | Queued | Given | Recorded | Refused:
    """Run the claim. Raises what the input is refused with; then nothing is written."""
    owning = request.owning
    session = SessionRow.locked(tx, request.session_id) or SessionRow.made(
        tx, request.session_id, owning.agent, request.environment, owning.at, request.user
    )
    if request.user is not None and session.belongs_to != request.user:
        raise no_session(request.session_id)
    _refuse_other_agent(session, request)
    if not session.created and (replayed := _replayed(tx, session, request)) is not None:
        return _again(tx, session, request, replayed) or replayed
    given = request.input
    refuse_roles(tx, session, getattr(given, "messages", ()), request.roles)
    if (late := _late_results(tx, session, given)) is not None:
        return late
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
    refuse_moved(tx, session, request.session_id, request.if_head)
    begins = not interrupts and not isinstance(given, AskUserAnswer) and not _records_only(given)
    if begins and (found := unbegun(tx, session, owning)) is not None:
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
    elif begins and session.queued and started.paused_here() is None:
        queued = enqueue(tx, session, request)
        started.forget_before()  # `turn.queued` was told after it, so whoever listens reads it from the log
        return replace(queued, started=started.first_waiting())
    return _begin(started, request)


def _late_results(tx: Tx, session: SessionRow, given: Input) -> Replayed | None:
    """Nothing but results of calls that wait for their client no more: sent again, or too late (C39)."""
    if session.created or not isinstance(given, ClientAppend) or given.record_only:
        return None
    if not given.messages or any(message.role != "tool" for message in given.messages):
        return None
    call = repeated(tx, session.key, given.messages)
    return None if call is None else Replayed(call.turn_id, call.after_seq)


def _begin(started: OpenStep, request: Claim) -> Claimed | Replayed | Given | Recorded | Refused:
    """What the input does in a session that nobody has and in which nothing comes before it."""
    given, session = request.input, started.session
    if isinstance(given, ClientAppend | ClientMessages) and given.record_only:
        recorded = started.record_only(given, request.turn_id if request.turn_id_given else None)
        session.release()
        session.save(started.tx, request.owning.at)
        return recorded
    if started.expired is not None and _answers(given):
        refused = Refused(started.expired, started.first_waiting())
        if refused.started is None:
            session.release()
            session.save(started.tx, request.owning.at)
        return refused
    return started.begin(given, request.turn_id)


def _answers(given: Input) -> bool:
    """Whether it is nothing but what a pause waits for: an answer by name, results of the client."""
    if isinstance(given, ClientAppend | ClientMessages):
        return bool(given.messages) and given.messages[-1].role == "tool"
    return isinstance(given, AskUserAnswer)


def _records_only(given: Input) -> bool:
    return bool(getattr(given, "record_only", False))


def start_first(tx: Tx, session: SessionRow, owning: Owning) -> Claimed | None:
    """Begin the first entry of an idle session's queue, unless the path waits for an answer (C21)."""
    started = OpenStep(tx, session, owning)
    started.stop_as_asked()
    return started.first_waiting()


def wake(tx: Tx, session: SessionRow, owning_of: Wake | None) -> Claimed | None:
    """Begin the first waiting turn because another one, or a pause, has ended here (C24); the row is saved then."""
    if owning_of is None or not session.queued or session.turn is not None:
        return None
    owning = owning_of(session.agent)
    return None if owning is None else start_first(tx, session, owning)


def take_up(tx: Tx, session_id: str, owning: Owning, turn_ids: Collection[str] | None) -> Claimed | None:
    """Begin the first entry of a queue that nobody serves, once the turn of a dead owner is repaired (C21).

    With `turn_ids` only when it is one of them.
    """
    session = SessionRow.locked(tx, session_id)
    if (
        session is None
        or not is_first(tx, session, turn_ids)
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
    if request.turn_id_given:
        ref = resolve(tx, session.key, request.turn_id)
        if ref is None:
            return None
        after_seq = session.seq if ref.after_seq is None else ref.after_seq
        waits = ref.id and ref.number is None
        return Queued(ref.id, after_seq, replayed=True) if waits else Replayed(ref.id, after_seq)
    message = request.input.message if isinstance(request.input, ClientMessage) else None
    if message is None or not message.id:
        return None
    found = tx.one(_DELIVERED, session.key, session.key, message.id, message.id)
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
