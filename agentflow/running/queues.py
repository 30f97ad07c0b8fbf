"""The queues of sessions whose waiting turns came in here: begun by this process, should nobody else (C21)."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field

from agentflow.errors import AgentflowError, StaleOwner, StoreError
from agentflow.reading.status import is_running, open_pause
from agentflow.store.cause import cause_of
from agentflow.store.protocol import Store

_log = logging.getLogger("agentflow.runtime")

_PATIENCE_POLLS = 8

TakeUp = Callable[[str, str, Collection[str] | None], Awaitable[bool]]
"""Start the first turn that waits in a session, of an agent, or only one of these ids; whether it could be."""


@dataclass(slots=True)
class _Waiting:
    """A session in whose queue turns wait that came in here; `polls` counts how long nobody has run anything."""

    agent: str
    turn_ids: set[str] = field(default_factory=set)
    polls: int = 0


class Queues:
    """Filled by the requests of this process, looked after by its heartbeat."""

    def __init__(self, store: Store, take_up: TakeUp) -> None:
        self._store, self._take_up = store, take_up
        self._waiting: dict[str, _Waiting] = {}  # by session
        self._left: dict[str, Exception] = {}  # by session

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, session_id: str, agent: str, turn_id: str) -> None:
        """A turn of this agent, by its path, waits now."""
        self._left.pop(session_id, None)
        self._waiting.setdefault(session_id, _Waiting(agent)).turn_ids.add(turn_id)

    def left(self, session_id: str) -> Exception | None:
        """Why this process begins nothing more of what waits in the session, null as long as it does."""
        return self._left.get(session_id)

    def started(self, session_id: str, turn_id: str) -> None:
        """A turn of the session runs here."""
        self._left.pop(session_id, None)
        if (waiting := self._waiting.get(session_id)) is not None:
            waiting.turn_ids.discard(turn_id)
            waiting.polls = 0

    async def serve(self, running: Collection[str]) -> None:
        """Begin what waits in the sessions in which nobody runs anything; those of `running` are seen to."""
        for session_id in list(self._waiting):
            if session_id not in running:
                try:
                    await self._serve(session_id)
                except Exception as error:
                    await self._leave(session_id, error)

    async def _serve(self, session_id: str) -> None:
        """Turns that others queued are left to them, unless nobody seems to begin them for a while."""
        waiting = self._waiting[session_id]
        record = await self._store.session(session_id)
        if record is None or not record.queued or not waiting.turn_ids:
            del self._waiting[session_id]
            return
        if is_running(record) or open_pause(record) is not None:
            waiting.polls = 0
            return
        waiting.polls += 1
        wanted = waiting.turn_ids if waiting.polls < _PATIENCE_POLLS else None
        await self._take_up(session_id, waiting.agent, wanted)

    async def _leave(self, session_id: str, error: Exception) -> None:
        """Leave a queue that cannot go on to others: of no agent, or of a damaged session.

        Raises `StoreError` when the database is away: then it waits with all others.
        """
        if isinstance(error, StaleOwner):
            return  # somebody else was first: the next look tells
        told = await cause_of(error, self._store, session_id)
        if told is error and isinstance(error, StoreError):
            raise error
        fault = None if isinstance(told, AgentflowError) else told
        _log.warning("the queue of session %s stays as it is: %s", session_id, told, exc_info=fault)
        del self._waiting[session_id]
        self._left[session_id] = told
