"""What is read of sessions: status, transcript, tree, results, events. Nothing here writes (T29)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from agentflow import clock, events
from agentflow.conversation.pauses.awaited import status_of
from agentflow.errors import InvalidInput, SessionNotFound, TurnNotFound
from agentflow.events import Event
from agentflow.live.event_feed import Feeds
from agentflow.live.owner import is_alive
from agentflow.message import TurnState, Usage
from agentflow.reading.trace import turn_trace
from agentflow.result import TurnResult
from agentflow.store.protocol import Store
from agentflow.store.records import PendingPause, SessionRecord, StepRecord, TurnRef

POLL_SECS = 0.25
_PAGE = 500
_ENDED = {TurnState.DONE, TurnState.FAILED, TurnState.ABORTED, TurnState.PAUSED_ASK_USER}


class SessionReader:
    """Reads of one store; live events come from the feeds of this process."""

    def __init__(self, store: Store, feeds: Feeds) -> None:
        self._store = store
        self._feeds = feeds

    async def record(self, session_id: str) -> SessionRecord:
        """The session's row. Raises `SessionNotFound`."""
        found = await self._store.session(session_id)
        if found is None:
            raise SessionNotFound(f"There is no session {session_id!r}.", detail={"session_id": session_id})
        return found

    async def status(self, session_id: str) -> dict[str, Any]:
        record = await self.record(session_id)
        return {**_status(record), "todos": await self._todos(record)}

    async def sessions(self, *, agent: str | None, limit: int) -> list[dict[str, Any]]:
        found = await self._store.sessions(agent=agent, limit=limit)
        return [
            {
                **_status(record),
                "name": record.name,
                "outcome": _outcome(record),
                "created_at": clock.rfc3339(record.created_at),
                "updated_at": clock.rfc3339(record.updated_at),
                "turns": record.turns,
            }
            for record in found
        ]

    async def session(self, session_id: str) -> dict[str, Any]:
        record = await self.record(session_id)
        path = await self._store.path(record.key, record.head, lean_before=None)
        versions = await self._store.versions(record.key, record.head)
        steps = await self._store.steps(record.key)
        return {
            **_status(record),
            "todos": await self._todos(record),
            "name": record.name,
            "outcome": _outcome(record),
            "environment": record.environment,
            "created_at": clock.rfc3339(record.created_at),
            "updated_at": clock.rfc3339(record.updated_at),
            "state": versions.state,
            "messages": [entry.message.as_dict() for entry in path if not entry.message.hidden],
            "steps": [_step(step) for step in steps],
            "totals": _totals(steps),
        }

    async def _todos(self, record: SessionRecord) -> list[dict[str, str]]:
        """The list as clients were last told of it (T32)."""
        told = await self._store.todos(record.key)
        return [] if told is None else list(told.items)

    async def trace(self, session_id: str, turn: int | None) -> dict[str, Any]:
        """A turn as `records.trace` shows it. Raises `SessionNotFound`, `TurnNotFound`."""
        record = await self.record(session_id)
        rows = await self._store.trace(record.key, turn)
        if rows is None:
            which = "no turn yet" if turn is None else f"no turn {turn}; its turns are 1 to {record.turns}"
            raise TurnNotFound(f"Session {session_id!r} has {which}.", detail={"session_id": session_id, "turn": turn})
        alive = rows.turn["id"] != record.running_turn or is_running(record)
        return {"session_id": session_id, **turn_trace(rows, clock.instant(), alive=alive)}

    async def tree(self, session_id: str) -> dict[str, Any]:
        tree = await self._store.tree((await self.record(session_id)).key)
        return {
            "head_id": tree.head_id,
            "nodes": [
                {
                    "message": node.message.as_dict(),
                    "parent_id": node.parent_id,
                    "copied_from": node.copied_from,
                    "turn_id": node.turn_id,
                }
                for node in tree.nodes
            ],
            "compactions": list(tree.compactions),
        }

    async def result(self, session_id: str, turn_id: str) -> TurnResult | None:
        """What the turn came to, null while somebody runs it. Raises `SessionNotFound`, `TurnNotFound`."""
        record = await self.record(session_id)
        step = await self._step_of(record, await self._turn(record, turn_id))
        if step is None:
            return None
        if step.turn_state in _ENDED:
            return _result(session_id, step, step.turn_state)
        return _result(session_id, step, TurnState.ABORTED) if _is_dead(record, step) else None

    async def events(
        self, session_id: str, after_seq: int, turn_id: str | None, *, follow: bool
    ) -> AsyncIterator[Event]:
        record = await self.record(session_id)
        if after_seq > record.seq:
            raise InvalidInput(f"Session {session_id!r} has {record.seq} events; there is none after {after_seq} yet.")
        end = await self._end(record, after_seq, turn_id, follow=follow)
        subscription = self._feeds.subscribe(session_id)
        seq, completed = after_seq, set[str]()
        try:
            while True:
                if subscription.is_behind:
                    self._feeds.unsubscribe(session_id, subscription)
                    subscription = self._feeds.subscribe(session_id)
                page = await self._store.events(session_id, seq, _PAGE)
                for event in page:
                    seq = event.seq or seq
                    _note_completed(event, completed)
                    yield event
                    if end.after(event):
                        return
                if len(page) == _PAGE:
                    continue
                if await self._stands_still(record, seq, end):
                    if end.turn_id is not None and (end.live or end.died):
                        yield _died(session_id, end.turn_id)
                    return
                # As long as something comes, and comes without a gap, it is all there is to read.
                behind = False
                while not behind and (taken := await subscription.take(POLL_SECS)):
                    for event in taken:
                        if event.seq is None:
                            if event.data.get("call_id") not in completed:
                                yield event
                        elif event.seq == seq + 1:
                            seq = event.seq
                            _note_completed(event, completed)
                            yield event
                            if end.after(event):
                                return
                        elif event.seq > seq + 1 or event.type == events.SESSION_CREATED:
                            behind = True  # another process wrote in between, or the session was erased: look
                            break
        finally:
            self._feeds.unsubscribe(session_id, subscription)

    async def _end(self, record: SessionRecord, after_seq: int, turn_id: str | None, *, follow: bool) -> _End:
        if turn_id is None:
            return _End(None, None if follow else record.seq, live=follow)
        ref = await self._turn(record, turn_id)
        step = await self._step_of(record, ref)
        if step is not None and step.turn_state not in _ENDED and _is_dead(record, step):
            return _End(ref.id, None, live=False, died=True)
        if step is None or step.turn_state not in _ENDED:
            return _End(ref.id, record.seq + 1, live=True)
        return _End(ref.id, step.done_seq, live=False)

    async def _stands_still(self, begun: SessionRecord, seq: int, end: _End) -> bool:
        """The log is read to its end: will anything more come that this reader waits for?

        Raises `SessionNotFound` when the session was erased meanwhile, whether or not its id is used again (R12).
        """
        if not end.live:
            return True
        record = await self.record(begun.id)
        if record.key != begun.key:
            raise SessionNotFound(f"Session {begun.id!r} was erased.", detail={"session_id": begun.id})
        if end.turn_id is None:
            return False
        ref = await self._store.turn(record.key, end.turn_id)
        waits = ref is not None and ref.number is None
        return not waits and not is_running(record) and record.seq <= seq

    async def turn_id(self, session_id: str, name: str) -> str:
        """The turn's own id, whichever of its names is given. Raises `SessionNotFound`, `TurnNotFound`."""
        return (await self._turn(await self.record(session_id), name)).id

    async def _turn(self, record: SessionRecord, name: str) -> TurnRef:
        """The turn that the name means, be it waiting. Raises `TurnNotFound`, also for a request that ran none."""
        ref = await self._store.turn(record.key, name)
        if ref is None or not ref.id:
            raise TurnNotFound(
                f"Session {record.id!r} has no turn {name!r}; `agentflow sessions show --json` lists its steps.",
                detail={"session_id": record.id, "turn_id": name},
            )
        return ref

    async def _step_of(self, record: SessionRecord, ref: TurnRef) -> StepRecord | None:
        """The turn's last step, null while it waits in the queue."""
        return None if ref.number is None else await self._store.step(record.key, ref.id)


class _End:
    """Where a stream of events ends: after a sequence number, or after a turn's first `done` from one on.

    A turn that `died` has no such `done`: its process is gone and nobody has repaired it yet.
    """

    def __init__(self, turn_id: str | None, seq: int | None, *, live: bool, died: bool = False) -> None:
        self.turn_id = turn_id
        self.live = live
        self.died = died
        self._seq = seq

    def after(self, event: Event) -> bool:
        if self._seq is None or event.seq is None:
            return False
        if self.turn_id is None:
            return event.seq >= self._seq
        return event.type == events.DONE and event.turn_id == self.turn_id and event.seq >= self._seq


def _note_completed(event: Event, completed: set[str]) -> None:
    if event.type in (events.LLM_CALL_COMPLETED, events.LLM_CALL_ERRORED):
        completed.add(event.data["call_id"])


def _died(session_id: str, turn_id: str) -> Event:
    """The terminal event of a turn whose process is gone and which nobody has repaired yet (T42)."""
    data = events.done(turn_id, None, TurnState.ABORTED, 0).full
    return Event(session_id, None, turn_id, clock.instant(), events.DONE, data)


def is_running(record: SessionRecord) -> bool:
    return record.running_turn is not None and is_alive(
        record.owner or "", record.lease_until or 0, record.running_turn
    )


def _is_dead(record: SessionRecord, step: StepRecord) -> bool:
    """Whether the turn runs by its rows and its owner is gone.

    Session and step are read one after the other: a session that does not name the turn says nothing about it.
    """
    return record.running_turn == step.turn_id and not is_running(record)


def _status(record: SessionRecord) -> dict[str, Any]:
    """A dead turn is shown as aborted (T29), a paused one as what it asks (T21)."""
    pending = open_pause(record)
    status = "idle" if pending is None else str(TurnState.PAUSED_ASK_USER)
    if record.running_turn is not None:
        status = "running" if is_running(record) else "aborted"
    return {
        "session_id": record.id,
        "agent_id": record.agent,
        "status": status,
        "turn_id": record.running_turn if pending is None else pending.turn_id,
        **status_of(None if pending is None else pending.awaited),
        "queued": record.queued,
    }


def open_pause(record: SessionRecord) -> PendingPause | None:
    """What the active path waits for, unless its time is over (T21)."""
    pending = record.pending
    if pending is None or record.running_turn is not None:
        return None
    return None if pending.is_over(clock.instant()) else pending


def _outcome(record: SessionRecord) -> str | None:
    """How the session's last turn ended; one whose time to wait is over is aborted, as its next request finds it."""
    if record.outcome != TurnState.PAUSED_ASK_USER or record.pending is None:
        return record.outcome
    return str(TurnState.ABORTED) if record.pending.is_over(clock.instant()) else record.outcome


def _over(step: StepRecord) -> PendingPause | None:
    """What the step's turn waited for, once the time is over."""
    return step.pause if step.pause is not None and step.pause.is_over(clock.instant()) else None


def _step(step: StepRecord) -> dict[str, Any]:
    return {
        "order": step.number,
        "turn_id": step.turn_id,
        "state": step.state if _over(step) is None else str(TurnState.ABORTED),
        "opened_at": clock.rfc3339(step.opened_at),
        "completed_at": None if step.completed_at is None else clock.rfc3339(step.completed_at),
        "first_token_ms": step.first_token_ms,
        "user_message_id": step.user_message_id,
        "answer": step.answer,
        "message_id": step.answer_id,
        "limit": step.limit,
    }


def _totals(steps: list[StepRecord]) -> dict[str, Any]:
    """Sums over the turns, each counted once though it may have several steps."""
    by_turn = {step.turn: step.usage for step in steps}
    usage = sum(by_turn.values(), start=Usage())
    return {**usage.as_dict(), "cost": None if usage.cost is None else str(usage.cost), "turns": len(by_turn)}


def _result(session_id: str, step: StepRecord, state: str) -> TurnResult:
    error, over = step.error, _over(step)
    if over is not None:
        state, error = TurnState.ABORTED, over.awaited.expired().as_dict()
    waits = step.pause.awaited if step.pause is not None and over is None else None
    return TurnResult(
        session_id,
        step.turn_id,
        step.number,
        str(state),
        step.answer,
        step.usage,
        None if waits is None else waits.question(),
        limit=step.limit,
        error=error,
        message_id=step.answer_id,
        pending_kind=None if waits is None else waits.kind,
        calls=() if waits is None else waits.call_dicts(),
    )
