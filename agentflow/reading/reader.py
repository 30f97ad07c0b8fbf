"""What is read of sessions: status, transcript, tree, results, events. Nothing here writes (T29)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from agentflow import clock
from agentflow.conversation import arguments
from agentflow.errors import TurnNotFound, no_session
from agentflow.events import Event
from agentflow.live.event_feed import Feeds
from agentflow.message import TurnState
from agentflow.reading.lookup import session_of, step_of, turn_of
from agentflow.reading.pages import SessionPage, cursor_of
from agentflow.reading.runs import runs_of_session
from agentflow.reading.status import (
    STANDING_STILL,
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
    turn_state,
)
from agentflow.reading.stream import stream
from agentflow.reading.trace import turn_trace
from agentflow.reading.transcript import transcript
from agentflow.result import TurnResult
from agentflow.store.protocol import Store
from agentflow.store.records import CallLeftOpen, SessionRecord, StepRecord
from agentflow.store.requests import ListSessions


class SessionReader:
    """Reads of one store; live events come from the feeds of this process."""

    def __init__(self, store: Store, feeds: Feeds) -> None:
        self._store = store
        self._feeds = feeds

    async def record(self, session_id: str) -> SessionRecord:
        """The session's row. Raises `SessionNotFound`, `InvalidInput`."""
        return await session_of(self._store, session_id)

    async def status(self, session_id: str, owner: str | None) -> dict[str, Any]:
        record = await self.record(session_id)
        if owner is not None and record.belongs_to != owner:
            raise no_session(session_id)
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
            "outcome": outcome_of(record),
            "environment": record.environment,
            "created_at": clock.rfc3339(record.created_at),
            "updated_at": clock.rfc3339(record.updated_at),
            "state": versions.state,
            **await transcript(self._store, record, whole=arguments.flag(whole, "all")),
            "steps": [step_dict(step) for step in steps],
            "executions": await self._executions(record, steps),
            "totals": totals(steps, await self._store.ledger.naming_usage(record.key)),
        }

    async def _executions(self, record: SessionRecord, steps: list[StepRecord]) -> list[dict[str, Any]]:
        """The runs of all turns, which stand as the last steps of their turns do."""
        states = {step.turn: turn_state(record, step) for step in steps}
        return runs_of_session(await self._store.executions(record.key), states)

    async def _todos(self, record: SessionRecord) -> list[dict[str, str]]:
        """The list as clients were last told of it (T32)."""
        told = await self._store.todos(record.key)
        return [] if told is None else list(told.items)

    async def trace(self, session_id: str, turn: int | str | None) -> dict[str, Any]:
        """A turn, by number or any of its names, as `turn_trace` shows it. Raises `SessionNotFound`, `TurnNotFound`."""
        record = await self.record(session_id)
        number = await self._number(record, turn) if isinstance(turn, str) else turn
        if number is not None:
            arguments.whole_number(number, "turn", least=1)
        rows = await self._store.trace(record.key, number)
        if rows is None:
            which = "no turn yet" if turn is None else f"no turn {turn}; its turns are 1 to {record.turns}"
            raise TurnNotFound(f"Session {session_id!r} has {which}.", detail={"session_id": session_id, "turn": turn})
        alive = rows.turn["id"] != record.running_turn or is_running(record)
        return {"session_id": session_id, **turn_trace(rows, clock.instant(), alive=alive)}

    async def _number(self, record: SessionRecord, name: str) -> int:
        ref = await turn_of(self._store, record, name)
        if ref.number is None:
            raise TurnNotFound(
                f"Turn {name!r} of session {record.id!r} waits in the queue and has done nothing yet.",
                detail={"session_id": record.id, "turn_id": name},
            )
        return ref.number

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
        step = await step_of(self._store, record, await turn_of(self._store, record, turn_id))
        if step is None:
            return None
        if step.turn_state in STANDING_STILL:
            return result_of(session_id, step, step.turn_state)
        return result_of(session_id, step, TurnState.ABORTED) if is_dead(record, step) else None

    def events(self, session_id: str, after_seq: int, turn_id: str | None, *, follow: bool) -> AsyncIterator[Event]:
        return stream(self._store, self._feeds, session_id, after_seq, turn_id, follow=follow)

    async def turn(self, session_id: str, name: str) -> dict[str, Any]:
        """As `Runtime.turn`."""
        record = await self.record(session_id)
        ref = await turn_of(self._store, record, name)
        result = None if ref.number is None else await self.result(session_id, ref.id)
        state = "queued" if ref.number is None else "running" if result is None else result.state
        return {
            "session_id": session_id,
            "turn_id": ref.id,
            "number": ref.number,
            "state": state,
            "after_seq": ref.after_seq,
            "result": None if result is None else result.as_dict(),
        }

    async def turn_id(self, session_id: str, name: str) -> str:
        """The turn's own id, whichever of its names is given. Raises `SessionNotFound`, `TurnNotFound`."""
        return (await turn_of(self._store, await self.record(session_id), name)).id
