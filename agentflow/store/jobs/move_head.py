"""Moving the head without a turn (`head.move`, C2, C20)."""

from __future__ import annotations

from agentflow import events
from agentflow.errors import MessageNotFound, SessionNotFound
from agentflow.store.reads.known_nodes import KnownRows
from agentflow.store.records import Moved
from agentflow.store.requests import MoveHead
from agentflow.store.session.close_turn import repair_and_release
from agentflow.store.session.refusals import refuse_busy
from agentflow.store.session.session_row import SessionRow
from agentflow.store.sql.transaction import Tx


def move_head(tx: Tx, request: MoveHead) -> Moved:
    """Move the head exactly to the message.

    Nothing is left in flight to be voided (C20): a turn that runs refuses the move, one that died is closed first.
    Raises `SessionNotFound`, `MessageNotFound`, `TurnAlreadyActive`.
    """
    session = SessionRow.locked(tx, request.session_id)
    if session is None:
        raise SessionNotFound(f"There is no session {request.session_id!r}.", detail={"session_id": request.session_id})
    after_seq = session.seq
    if session.turn is not None:
        turn_id = session.turn_id(tx)
        if request.alive(session.owner or "", session.lease_until or 0, turn_id):
            refuse_busy(session, request.session_id, turn_id, request.at)
        repair_and_release(tx, session, request.at, request.new_id)
    node = KnownRows(tx, session.key, ()).nodes({request.message_id}).get(request.message_id)
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
    session.flush(tx, None, request.at)
    session.save(tx, request.at)
    return Moved(node.id, moved, after_seq)
