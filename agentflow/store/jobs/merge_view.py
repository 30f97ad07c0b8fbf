"""A view that a worker gives while its turn runs, merged as a client's is (C33)."""

from __future__ import annotations

from agentflow import events
from agentflow.conversation import view
from agentflow.errors import InvalidInput, StaleOwner
from agentflow.store.reads.known_nodes import KnownRows
from agentflow.store.reads.questions import pending_questions
from agentflow.store.records import Merged
from agentflow.store.requests import MergeView
from agentflow.store.session.session_row import Work
from agentflow.store.sql.transaction import Tx


def merge_view(tx: Tx, request: MergeView) -> Merged:
    """Merge the view and move the head. Raises `InvalidInput` for a view that cannot be, `StaleOwner` (C35)."""
    work = Work.by_key(tx, request.session_key)
    if work is None or (work.epoch, work.turn) != (request.epoch, request.turn):
        raise StaleOwner(f"Turn {request.turn} lost its session: nothing of this write was recorded.")
    known = KnownRows(tx, work.key, {pending.place for pending in pending_questions(tx, work.key)})
    merged = view.merge(known, known.at(work.head), request.messages, request.new_id)
    if merged.paused:
        raise InvalidInput("The view ends where another turn waits for the answer to its question.")
    if merged.head_moved and merged.cursor is not None:
        work.tell(events.plain(events.HEAD_MOVED, {"head_id": merged.cursor.id}))
    work.head = None if merged.cursor is None else merged.cursor.place
    parent = None if merged.cursor is None else merged.cursor.id
    written = work.record(tx, merged.writes, request.turn, request.execution, parent)
    log = tuple(work.flush(tx, request.turn, request.at))
    work.save(tx, request.at)
    forks = not written and work.head is not None and not work.is_tip(tx)
    return Merged(work.head, merged.head, written, work.branches, forks, work.seq, log)
