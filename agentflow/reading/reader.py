"""What is read of sessions: status, transcript, tree, results, events. Nothing here writes (T29)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from agentflow import clock, events
from agentflow.conversation import arguments
from agentflow.errors import InvalidInput, SessionNotFound, TurnNotFound
from agentflow.events import Event
from agentflow.live.event_feed import Feeds
from agentflow.message import TurnState
from agentflow.reading.pages import SessionPage, cursor_of
from agentflow.reading.status import (
    is_dead,
    is_running,
    open_call_dicts,
    open_pause,
    outcome_of,
    queue_dicts,
    result_of,
    status_of,
    step_dict,
    totals,
)
from agentflow.reading.trace import turn_trace
from agentflow.reading.transcript import transcript
from agentflow.result import TurnResult
from agentflow.store.protocol import Store
from agentflow.store.records import CallLeftOpen, SessionRecord, StepRecord, TurnRef
from agentflow.store.requests import ListSessions

POLL_SECS = 0.25
_PAGE = 500
_ENDED = {TurnState.DONE, TurnState.FAILED, TurnState.ABORTED, TurnState.PAUSED_ASK_USER}


class SessionReader:
    """Reads of one store; live events come from the feeds of this process."""

    def __init__(self, store: Store, feeds: Feeds) -> None:
        self._store = store
        self._feeds = feeds

    async def record(self, session_id: str) -> SessionRecord:
        """The session's row. Raises `SessionNotFound`, `InvalidInput`."""
        found = await self._store.session(arguments.session_id(session_id))
        if found is None:
            raise SessionNotFound(f"There is no session {session_id!r}.", detail={"session_id": session_id})
        return found

    async def status(self, session_id: str) -> dict[str, Any]:
        record = await self.record(session_id)
        return await self._status(record)

    async def _status(self, record: SessionRecord) -> dict[str, Any]:
        """The status with what waits: turns in the queue, and calls whose results come from outside."""
        status = status_of(record)
        waiting = await self._store.queue(record.key) if record.queued else []
        calls: list[CallLeftOpen] = []
        if (pause := open_pause(record)) is not None:
            calls = [CallLeftOpen(call, "client") for call in pause.awaited.calls]
        elif record.running_turn is not None:
            calls = await self._store.left_open(record.key, record.running_turn)
        return {
            **status,
            "queue": queue_dicts(waiting),
            "open_calls": open_call_dicts(calls),
            "todos": await self._todos(record),
        }

    async def sessions(self, asked: ListSessions) -> SessionPage:
        found = await self._store.sessions(asked)
        listed = [
            {
                **status_of(record),
                "name": record.name,
                "outcome": outcome_of(record),
                "created_at": clock.rfc3339(record.created_at),
                "updated_at": clock.rfc3339(record.updated_at),
                "turns": record.turns,
            }
            for record in found.sessions
        ]
        return SessionPage(listed, found.more, None if found.following is None else cursor_of(found.following))

    async def session(self, session_id: str, *, whole: bool = False) -> dict[str, Any]:
        record = await self.record(session_id)
        versions = await self._store.versions(record.key, record.head)
        steps = await self._store.steps(record.key)
        return {
            **await self._status(record),
            "name": record.name,
            "outcome": outcome_of(record),
            "environment": record.environment,
            "created_at": clock.rfc3339(record.created_at),
            "updated_at": clock.rfc3339(record.updated_at),
            "state": versions.state,
            **await transcript(self._store, record, whole=arguments.flag(whole, "all")),
            "steps": [step_dict(step) for step in steps],
            "totals": totals(steps),
        }

    async def _todos(self, record: SessionRecord) -> list[dict[str, str]]:
        """The list as clients were last told of it (T32)."""
        told = await self._store.todos(record.key)
        return [] if told is None else list(told.items)

    async def trace(self, session_id: str, turn: int | None) -> dict[str, Any]:
        """A turn as `records.trace` shows it. Raises `SessionNotFound`, `TurnNotFound`."""
        record = await self.record(session_id)
        turn = None if turn is None else arguments.whole_number(turn, "turn", least=1)
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
            return result_of(session_id, step, step.turn_state)
        return result_of(session_id, step, TurnState.ABORTED) if is_dead(record, step) else None

    async def events(
        self, session_id: str, after_seq: int, turn_id: str | None, *, follow: bool
    ) -> AsyncIterator[Event]:
        record = await self.record(session_id)
        arguments.optional_text(turn_id, "turn_id")
        if arguments.whole_number(after_seq, "after_seq") > record.seq:
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
        if step is not None and step.turn_state not in _ENDED and is_dead(record, step):
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
