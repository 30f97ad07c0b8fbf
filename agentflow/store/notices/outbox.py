"""What waits to be sent, packed into as few notices as there can be. Pure: time is counted in rounds.

A Postgres notice holds less than 8,000 bytes (F12), and each commit that notifies takes a lock of the whole database
(F23): so whatever a process has to say is sent together, one batch a round.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from agentflow.events import LLM_DELTA, Event

MOST_BYTES = 7_000
ROUNDS_BETWEEN_PIECES = 5
"""Of one reply: with rounds of 10 ms, twenty pieces a second."""

Notice = list[Any]
"""`[kind, ...]`: `["seq", key, seq]`, `["ask", key]`, `["event", key, turn_id, at, type, data]`, `["proof", text]`."""


@dataclass(slots=True)
class _Piece:
    """Unsent text of one kind of one reply; `data` is what each of its deltas says beside the text."""

    key: int
    turn_id: str | None
    at: int
    kind: str
    offset: int
    data: Mapping[str, Any]
    texts: list[str]


class Outbox:
    """What is to be sent. Each `take` is a round."""

    def __init__(self) -> None:
        self._seqs: dict[int, int] = {}
        self._others: list[Notice] = []
        self._pieces: dict[tuple[str, str], _Piece] = {}  # by call and kind
        self._resting: dict[tuple[str, str], int] = {}  # how many rounds a reply has still to wait

    def __bool__(self) -> bool:
        return bool(self._seqs or self._others or self._pieces)

    def committed(self, sessions: Mapping[int, int]) -> None:
        for key, seq in sessions.items():
            self._seqs[key] = max(seq, self._seqs.get(key, 0))

    def add(self, notice: Notice) -> None:
        self._others.append(notice)

    def tell(self, key: int, event: Event) -> None:
        """An event that is not logged. The pieces of a reply are joined; other events that do not fit are left out."""
        if event.type != LLM_DELTA:
            self.add(["event", key, event.turn_id, event.at, event.type, event.data])
            return
        kind = "text" if "text" in event.data else "reasoning"
        told = {name: value for name, value in event.data.items() if name not in (kind, "offset")}
        id_, offset = (event.data["call_id"], kind), event.data["offset"]
        piece = self._pieces.get(id_)
        if piece is not None and piece.offset + sum(map(len, piece.texts)) == offset:
            piece.texts.append(event.data[kind])
            return
        if piece is not None:  # said again from the start, for one who has just come
            self._others += _deltas(piece)
        self._pieces[id_] = _Piece(key, event.turn_id, event.at, kind, offset, told, [event.data[kind]])

    def take(self, *, all_of_it: bool = False) -> list[str]:
        """The payloads of this round; what a reply says next waits for some rounds, unless all is taken."""
        self._resting = {id_: left - 1 for id_, left in self._resting.items() if left > 1}
        ready = [id_ for id_ in self._pieces if all_of_it or id_ not in self._resting]
        notices = [*self._others]
        for id_ in ready:
            notices += _deltas(self._pieces.pop(id_))
            self._resting[id_] = ROUNDS_BETWEEN_PIECES
        notices += (["seq", key, seq] for key, seq in self._seqs.items())
        self._seqs, self._others = {}, []
        return list(_packed(notices))

    @property
    def is_resting(self) -> bool:
        """Whether rounds have to go by although nothing waits, so that a reply's next piece is not held up."""
        return bool(self._resting)


def read(payload: str) -> list[Notice]:
    """The notices of a payload; none when somebody else uses the channel."""
    try:
        told = json.loads(payload)
    except ValueError:
        return []
    return [notice for notice in told if isinstance(notice, list)] if isinstance(told, list) else []


def _deltas(piece: _Piece) -> Iterator[Notice]:
    text, offset = "".join(piece.texts), piece.offset
    room = MOST_BYTES - 2 - len(_json(_delta(piece, offset + len(text), "")))
    while text:
        said = _prefix(text, room)
        yield _delta(piece, offset, said)
        text, offset = text[len(said) :], offset + len(said)


def _delta(piece: _Piece, offset: int, text: str) -> Notice:
    data = {**piece.data, "offset": offset, piece.kind: text}
    return ["event", piece.key, piece.turn_id, piece.at, LLM_DELTA, data]


def _prefix(text: str, room: int) -> str:
    """As much of the text as has so many bytes once it is escaped, at least one character."""
    low, high = 1, max(min(len(text), room), 1)
    while low < high:
        middle = (low + high + 1) // 2
        if len(_json(text[:middle])) - 2 <= room:
            low = middle
        else:
            high = middle - 1
    return text[:low]


def _json(value: object) -> str:
    """In ASCII: as many bytes as characters, whatever the database's encoding."""
    return json.dumps(value, separators=(",", ":"))


def _packed(notices: Iterable[Notice]) -> Iterator[str]:
    """Arrays of notices, each array of the most bytes at most; a notice that has more on its own is left out."""
    batch: list[str] = []
    size = 2
    for notice in notices:
        part = _json(notice)
        if len(part) + 2 > MOST_BYTES:
            continue
        if batch and size + len(part) + 1 > MOST_BYTES:
            yield f"[{','.join(batch)}]"
            batch, size = [], 2
        batch.append(part)
        size += len(part) + 1
    if batch:
        yield f"[{','.join(batch)}]"
