"""The pieces of replies as one reader has them: each character once, in order, from whichever side it comes."""

from __future__ import annotations

from dataclasses import replace

from agentflow.events import LLM_DELTA, Event

_MOST_HELD = 1_000_000


class Pieces:
    """What a reader has of each open reply, by call and kind.

    A piece that begins later than what is there waits until what is missing has come: in a reply of another process
    the reader may begin in the middle.
    """

    def __init__(self) -> None:
        self._lengths: dict[tuple[str, str], int] = {}
        self._waiting: dict[tuple[str, str], dict[int, Event]] = {}
        self._held = 0

    def add(self, event: Event) -> list[Event]:
        """What of the event, and of those that waited for it, is new; an event that is no piece is."""
        if event.type != LLM_DELTA:
            return [event]
        kind = _kind(event)
        id_ = event.data["call_id"], kind
        new = []
        piece: Event | None = event
        while piece is not None:
            known, offset, text = self._lengths.get(id_, 0), piece.data["offset"], piece.data[kind]
            if offset > known:
                self._hold(id_, piece)
                break
            if offset + len(text) > known:
                self._lengths[id_] = offset + len(text)
                data = {**piece.data, "offset": known, kind: text[known - offset :]}
                new.append(piece if offset == known else replace(piece, data=data))
            piece = self._next(id_)
        return new

    def over(self, call_id: str) -> None:
        """The reply is recorded: nothing more is told of its pieces."""
        for kind in ("text", "reasoning"):
            self._lengths.pop((call_id, kind), None)
            for waiting in self._waiting.pop((call_id, kind), {}).values():
                self._held -= len(waiting.data[kind])

    def _hold(self, id_: tuple[str, str], event: Event) -> None:
        size = len(event.data[id_[1]])
        if self._held + size > _MOST_HELD:
            return  # the log will say all of it
        self._held += size
        self._waiting.setdefault(id_, {})[event.data["offset"]] = event

    def _next(self, id_: tuple[str, str]) -> Event | None:
        waiting = self._waiting.get(id_)
        if not waiting or (first := min(waiting)) > self._lengths[id_]:
            return None
        event = waiting.pop(first)
        self._held -= len(event.data[id_[1]])
        return event


def _kind(event: Event) -> str:
    return "text" if "text" in event.data else "reasoning"
