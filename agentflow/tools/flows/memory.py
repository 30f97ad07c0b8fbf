"""`ctx.memory`: notes that an agent keeps across the turns of its session, whichever branch or sub-agent wrote them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from copy import copy
from typing import Any, NamedTuple, Protocol, TypeVar

from agentflow import clock
from agentflow.clock import Instant
from agentflow.text import sanitise

T = TypeVar("T")

MAX_NOTES = 1_000  # of a session
MAX_TOPIC, MAX_CONTENT = 200, 4_000  # characters


class Note(NamedTuple):
    """What was worth keeping about a topic, and when it was saved."""

    topic: str
    content: str
    at: Instant


class Stored(Protocol):
    """The notes of the session's earlier steps."""

    async def notes(self, topic: str | None, limit: int, skip: int) -> list[Note]:
        """The newest first, of one topic or all."""

    async def topics(self) -> dict[str, int]:
        """How many notes each topic has."""


def _alone(work: Coroutine[Any, Any, T], cancelled: Callable[[], bool]) -> T:
    return asyncio.run(work)


class Memory:
    """The notes of a session (R10). A sync flow is given what a method comes to, an async one awaits it.

    `new` are those of this step, which ride on its next commit by `stage`; `wait` is how a sync flow waits. A context
    made by a test has a memory of its own. A call that was `cancelled` saves nothing.
    """

    def __init__(
        self,
        stored: Stored | None = None,
        new: list[Note] | None = None,
        stage: Callable[[Note], None] | None = None,
        wait: Callable[[Coroutine[Any, Any, Any], Callable[[], bool]], Any] = _alone,
    ) -> None:
        self._stored = stored
        self._new = [] if new is None else new
        self._stage = stage
        self._wait = wait
        self._cancelled: Callable[[], bool] = lambda: False

    def called_by(self, cancelled: Callable[[], bool]) -> Memory:
        """The same memory as the call has it of which `cancelled` tells whether it was given up."""
        same = copy(self)
        same._cancelled = cancelled
        return same

    def save(self, topic: str, content: str) -> Any:
        """Keep a note, and return it. Raises `ValueError` for a blank or too long text, and when the memory is full."""
        return self._here(self._save(topic, content))

    def recent(self, limit: int, *, skip: int = 0, topic: str | None = None) -> Any:
        """A list of at most `limit` notes after the first `skip`, the newest first, of one topic or all."""
        return self._here(self._recent(limit, skip, topic))

    def topics(self) -> Any:
        """How many notes each topic has, a dict by name."""
        return self._here(self._topics())

    def _here(self, work: Coroutine[Any, Any, T]) -> T | Coroutine[Any, Any, T]:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            result: T = self._wait(work, self._cancelled)
            return result
        return work

    async def _save(self, topic: str, content: str) -> Note:
        note = Note(_checked(topic, "topic", MAX_TOPIC), _checked(content, "content", MAX_CONTENT), clock.instant())
        earlier = 0 if self._stored is None else sum((await self._stored.topics()).values())
        if earlier + len(self._new) >= MAX_NOTES:
            raise ValueError(f"the memory is full: it has {MAX_NOTES} notes; nothing was saved")
        if not self._cancelled():
            self._new.append(note)
            if self._stage is not None:
                self._stage(note)
        return note

    async def _recent(self, limit: int, skip: int, topic: str | None) -> list[Note]:
        own = [note for note in reversed(self._new) if topic in (None, note.topic)]
        page = own[skip : skip + limit]
        if self._stored is not None and len(page) < limit:
            page += await self._stored.notes(topic, limit - len(page), max(skip - len(own), 0))
        return page

    async def _topics(self) -> dict[str, int]:
        found = {} if self._stored is None else await self._stored.topics()
        for note in self._new:
            found[note.topic] = found.get(note.topic, 0) + 1
        return dict(sorted(found.items()))


def _checked(text: str, name: str, most: int) -> str:
    if not isinstance(text, str) or not (clean := sanitise(text).strip()):
        raise ValueError(f"the {name} must be a text that is not blank")
    if len(clean) > most:
        raise ValueError(f"the {name} has {len(clean)} characters, at most {most} are kept; nothing was saved")
    return clean
