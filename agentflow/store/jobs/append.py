"""The writes of a running turn as jobs: append, end, close, renew.

Each write of a turn moves the session's row first, by a conditional update that names key, epoch and turn: it is
the fence (C35), it locks the session, and it returns what the writer must learn - the next sequence number, and
whether somebody asked to stop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from agentflow.clock import Instant
from agentflow.errors import StaleOwner
from agentflow.events import happened
from agentflow.message import TurnState
from agentflow.store.ended.turn_ended import turn_ended
from agentflow.store.jobs.claim import start_first
from agentflow.store.outcomes import Appended, Claimed
from agentflow.store.requests import Append, CloseTurn, End, Owning
from agentflow.store.session.close_turn import close_running
from agentflow.store.session.session_row import SessionRow
from agentflow.store.sql.transaction import Tx

_FENCE = "WHERE key = ? AND epoch = ? AND turn = ? RETURNING seq, stop_turn, queued"
_STAY = f"UPDATE session SET seq = seq + ?, executions = ?, branches = ? {_FENCE}"
_ADVANCE = f"UPDATE session SET seq = seq + ?, branch = ?, depth = ?, executions = ?, branches = ? {_FENCE}"
_RELEASE = (
    "UPDATE session SET seq = seq + ?, branch = ?, depth = ?, executions = ?, branches = ?, turn = NULL, "
    "owner = NULL, lease_until = NULL, stop_turn = NULL, updated_at = ?, ended_at = ?, outcome = ? " + _FENCE
)
_PAUSE = _RELEASE.replace("stop_turn = NULL, ", "")  # a stop that came too late to be heard is for the next claim


def append(tx: Tx, write: Append) -> Appended:
    """One commit of a running turn. Raises `StaleOwner`; then nothing is written."""
    seq, stop_turn, _ = _advance(tx, write, _STAY if write.keeps_head else _ADVANCE)
    return Appended(seq, stop_turn)


def end(tx: Tx, write: End) -> Appended:
    """The last commit of a step, the release of the session and the start of the next turn (T10, C21).

    Raises `StaleOwner`.
    """
    last = write.append
    release = _PAUSE if write.state == TurnState.PAUSED_ASK_USER else _RELEASE
    log = happened(last.log, last.at)
    ended_at = log[-1].at if log else last.at  # the moment its last event tells
    seq, _, queued = _advance(tx, replace(last, log=log), release, ended_at, ended_at, write.state)
    turn_ended(tx, last.session_key, last.turn)
    if write.owning is None or not queued:
        return Appended(seq, None)
    return Appended(seq, None, _following(tx, SessionRow.by_key(tx, last.session_key), write.owning))


def close_turn(tx: Tx, write: CloseTurn) -> Appended:
    """Write what a turn still has to say, close what is open of it then, and release the session (T24, T30).

    Raises `StaleOwner`.
    """
    last = write.append
    _advance(tx, last, _STAY if last.keeps_head else _ADVANCE)
    session = SessionRow.by_key(tx, last.session_key)
    if session is None:
        raise LookupError(f"session {last.session_key} vanished under its lock")
    closed = close_running(tx, session, last.turn, last.at, write.new_id, write.how)
    session.release()
    session.save(tx, last.at)
    return Appended(session.seq, None, _following(tx, session, write.owning), closed)


def _following(tx: Tx, session: SessionRow | None, owning: Callable[[], Owning] | None) -> Claimed | None:
    """The queued turn that begins as this one ends (C21)."""
    if session is None or owning is None or not session.queued:
        return None
    return start_first(tx, session, owning())


def _advance(tx: Tx, write: Append, update: str, *released: Any) -> tuple[int, str | None, int]:
    """Move the session's row, then write rows and log; its new `seq`, its `stop_turn` and how many turns wait."""
    place = () if write.keeps_head else write.head or (None, None)
    moved: tuple[int, str | None, int] | None = tx.one(
        update, len(write.log), *place, write.executions, write.branches, *released,
        write.session_key, write.epoch, write.turn,
    )  # fmt: skip
    if moved is None:
        raise StaleOwner(
            f"Turn {write.turn} lost its session: another process has claimed it, or it was deleted. "
            "Nothing of this write was recorded.",
            detail={"session_key": write.session_key, "epoch": write.epoch, "turn": write.turn},
        )
    tx.write(write.session_key, write.rows)
    tx.log(write.session_key, moved[0], write.turn, happened(write.log, write.at))
    return moved


def renew(tx: Tx, keys: Sequence[int], owner: str, lease_until: Instant) -> None:
    """Extend the owner's leases on these sessions in one statement (T27)."""
    marks = ", ".join("?" * len(keys))
    tx.execute(f"UPDATE session SET lease_until = ? WHERE owner = ? AND key IN ({marks})", lease_until, owner, *keys)
