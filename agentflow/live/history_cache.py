"""Histories of recent sessions, kept so that a warm turn reads nothing (C5).

A history is a function of the head it ends in, because nodes never change: an entry is right exactly when the
session's row and head are the ones it was built for, whoever wrote in between.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from agentflow.context.tokens import Report
from agentflow.conversation.history import History
from agentflow.conversation.tree import Place

MAX_CHARS = 64_000_000
MAX_SESSIONS = 2_000


@dataclass(frozen=True, slots=True)
class Remembered:
    """`blobs` are the hashes this session is known to have stored; `report` is of the last main call (X5)."""

    session_key: int
    head: Place | None
    lean: bool
    history: History
    blobs: frozenset[str]
    report: Report | None = None


class HistoryCache:
    """Bounded by characters and by sessions; the least recently used goes first."""

    def __init__(self) -> None:
        self._entries: OrderedDict[str, Remembered] = OrderedDict()
        self._chars = 0

    def take(
        self, session_id: str, session_key: int, head: Place | None, *, lean: bool, reader: str
    ) -> Remembered | None:
        """The entry for exactly this head and model, out of the cache: the caller grows it and puts it back."""
        entry = self._entries.pop(session_id, None)
        if entry is None:
            return None
        self._chars -= entry.history.chars
        kept = (entry.session_key, entry.head, entry.lean, entry.history.reader)
        return entry if kept == (session_key, head, lean, reader) else None

    def put(self, session_id: str, entry: Remembered) -> None:
        self.forget(session_id)
        self._entries[session_id] = entry
        self._chars += entry.history.chars
        while self._entries and (self._chars > MAX_CHARS or len(self._entries) > MAX_SESSIONS):
            _, oldest = self._entries.popitem(last=False)
            self._chars -= oldest.history.chars

    def forget(self, session_id: str) -> None:
        entry = self._entries.pop(session_id, None)
        if entry is not None:
            self._chars -= entry.history.chars
