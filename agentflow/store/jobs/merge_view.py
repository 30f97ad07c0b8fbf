"""A view that a worker gives while its turn runs, merged as a client's is (C33)."""

from __future__ import annotations

from agentflow import events
from agentflow.conversation import view
from agentflow.errors import InvalidInput, StaleOwner
from agentflow.store.outcomes import Merged
from agentflow.store.reads.known_nodes import KnownRows
from agentflow.store.reads.questions import pending_questions
from agentflow.store.requests import MergeView
from agentflow.store.session.session_row import SessionRow
from agentflow.store.sql.transaction import Tx


def merge_view(tx: Tx, request: MergeView) -> Merged:
    """Merge the view and move the head. Raises `InvalidInput` for a view that cannot be, `StaleOwner` (C35)."""
    session = SessionRow.by_key(tx, request.session_key)
    if session is None or (session.epoch, session.turn) != (request.epoch, request.turn):
        raise StaleOwner(f"Turn {request.turn} lost its session: nothing of this write was recorded.")
    known = KnownRows(tx, session.key, {pending.place: pending.kind for pending in pending_questions(tx, session.key)})
    merged = view.merge(known, known.at(session.head), request.messages, request.new_id, root=session.head)
    if merged.paused:
        raise InvalidInput("The view ends where another turn waits for an answer or for its client.")
    if merged.head_moved:
        head_id = None if merged.cursor is None else merged.cursor.id
        session.tell(events.plain(events.HEAD_MOVED, {"head_id": head_id}))
    session.head = merged.place
    parent = None if merged.cursor is None else merged.cursor.id
    written = session.record(tx, merged.writes, request.turn, request.execution, parent)
    log = tuple(session.flush(tx, request.turn, request.at))
    session.save(tx, request.at)
    forks = not written and session.head is not None and not session.is_tip(tx)
    return Merged(session.head, merged.head, written, session.branches, forks, session.seq, log)
