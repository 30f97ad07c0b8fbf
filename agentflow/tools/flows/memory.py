"""`ctx.memory`: notes that an agent keeps across the turns of its session, whichever branch or sub-agent wrote them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

from agentflow import clock
from agentflow.clock import Instant
from agentflow.text import sanitise

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


class Memory:
    """The notes of a session (R10), for flows declared with `async def`. A context made by a test has its own.

    `new` are those of this step, which ride on its next commit by `stage`.
    """

    def __init__(
        self, stored: Stored | None = None, new: list[Note] | None = None, stage: Callable[[Note], None] | None = None
    ) -> None:
        self._stored = stored
        self._new = [] if new is None else new
        self._stage = stage

    async def save(self, topic: str, content: str) -> Note:
        """Keep a note. Raises `ValueError` for a blank or too long text, and when the memory is full."""
        note = Note(_checked(topic, "topic", MAX_TOPIC), _checked(content, "content", MAX_CONTENT), clock.instant())
        earlier = 0 if self._stored is None else sum((await self._stored.topics()).values())
        if earlier + len(self._new) >= MAX_NOTES:
            raise ValueError(f"the memory is full: it has {MAX_NOTES} notes; nothing was saved")
        self._new.append(note)
        if self._stage is not None:
            self._stage(note)
        return note

    async def recent(self, limit: int, *, skip: int = 0, topic: str | None = None) -> list[Note]:
        """At most `limit` notes after the first `skip`, the newest first, of one topic or all."""
        own = [note for note in reversed(self._new) if topic in (None, note.topic)]
        page = own[skip : skip + limit]
        if self._stored is not None and len(page) < limit:
            page += await self._stored.notes(topic, limit - len(page), max(skip - len(own), 0))
        return page

    async def topics(self) -> dict[str, int]:
        """How many notes each topic has, by name."""
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
