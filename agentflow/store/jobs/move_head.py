"""Moving the head without a turn (`head.move`, C2, C20)."""

from __future__ import annotations

from agentflow import events
from agentflow.errors import MessageNotFound, no_session
from agentflow.store.jobs.claim import wake
from agentflow.store.outcomes import Moved
from agentflow.store.reads.known_nodes import KnownRows
from agentflow.store.reads.turns import resolve
from agentflow.store.requests import MoveHead
from agentflow.store.rows import inserts
from agentflow.store.session.close_turn import head_id, repair_and_release
from agentflow.store.session.refusals import refuse_busy, refuse_moved
from agentflow.store.session.session_row import SessionRow
from agentflow.store.sql.transaction import Tx


def move_head(tx: Tx, request: MoveHead) -> Moved:
    """Move the head exactly to the message; the same request made again moves nothing (C19).

    Nothing is left in flight to be voided (C20): a turn that runs refuses the move, one that died is closed first. A
    pause that is left this way lets the queue go on (C24). Raises `SessionNotFound`, `MessageNotFound`,
    `TurnAlreadyActive`.
    """
    session = SessionRow.locked(tx, request.session_id)
    if session is None or (request.user is not None and session.belongs_to != request.user):
        raise no_session(request.session_id)
    if request.turn_id is not None and (ref := resolve(tx, session.key, request.turn_id)) is not None:
        after_seq = session.seq if ref.after_seq is None else ref.after_seq
        return Moved(head_id(tx, session) or "", False, after_seq, replayed=True, turn_id=ref.id)
    refuse_moved(tx, session, request.session_id, request.if_head)
    after_seq = session.seq
    if session.turn is not None:
        turn_id = session.turn_id(tx)
        if request.alive(session.owner or "", session.lease_until or 0, turn_id):
            refuse_busy(session, request.session_id, turn_id, request.at)
        repair_and_release(tx, session, request.at, request.new_id)
    node = KnownRows(tx, session.key, {}).nodes({request.message_id}).get(request.message_id)
    if node is None:
        raise MessageNotFound(
            f"Session {request.session_id!r} has no message {request.message_id!r}; "
            "`agentflow sessions tree` lists them.",
            detail={"session_id": request.session_id, "message_id": request.message_id},
        )
    moved = session.head != node.place
    if moved:
        session.head = node.place
        session.tell(events.plain(events.HEAD_MOVED, {"head_id": node.id}))
    if request.turn_id is not None:
        session.rows.append(inserts.InsertAlias("turn", request.turn_id, "", None, after_seq))
    session.flush(tx, None, request.at)
    started = wake(tx, session, request.wake)
    if started is None:
        session.save(tx, request.at)
    return Moved(node.id, moved, after_seq, started)
