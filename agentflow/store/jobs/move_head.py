"""Moving the head without a turn (`head.move`, C2, C20)."""

from __future__ import annotations

from agentflow import events
from agentflow.errors import MessageNotFound, SessionNotFound
from agentflow.store.reads.known_nodes import KnownRows
from agentflow.store.records import Moved
from agentflow.store.requests import MoveHead
from agentflow.store.session.close_turn import repair_and_release
from agentflow.store.session.refusals import refuse_busy
from agentflow.store.session.session_row import Work
from agentflow.store.sql.transaction import Tx


def move_head(tx: Tx, request: MoveHead) -> Moved:
    """Move the head exactly to the message.

    Nothing is left in flight to be voided (C20): a turn that runs refuses the move, one that died is closed first.
    Raises `SessionNotFound`, `MessageNotFound`, `TurnAlreadyActive`.
    """
    work = Work.locked(tx, request.session_id)
    if work is None:
        raise SessionNotFound(f"There is no session {request.session_id!r}.", detail={"session_id": request.session_id})
    after_seq = work.seq
    if work.turn is not None:
        turn_id = work.turn_id(tx)
        if request.alive(work.owner or "", work.lease_until or 0, turn_id):
            refuse_busy(work, request.session_id, turn_id, request.at)
        repair_and_release(tx, work, request.at, request.new_id)
    node = KnownRows(tx, work.key, ()).nodes({request.message_id}).get(request.message_id)
    if node is None:
        raise MessageNotFound(
            f"Session {request.session_id!r} has no message {request.message_id!r}; "
            "`agentflow sessions tree` lists them.",
            detail={"session_id": request.session_id, "message_id": request.message_id},
        )
    moved = work.head != node.place
    if moved:
        work.head = node.place
        work.tell(events.plain(events.HEAD_MOVED, {"head_id": node.id}))
    work.flush(tx, None, request.at)
    work.save(tx, request.at)
    return Moved(node.id, moved, after_seq)
