"""What stays and what goes when room is made: whole exchanges, never the request that is being answered.

A `Cut` is a proposal. It becomes a `context.replace` (X18) only after its summary was accepted (X9); `kept` are the
messages to copy, in order, after the summary. The three ways to cut:

keep_recent   `settings` (X8): the newest messages of earlier turns stay, and all of the current turn
keep_turn     `use: summarize` and overflow (X13, X16): the current turn stays, as far as it fits
start_over    `use: reset` (X13): the current turn stays, nothing is summarized

`make_room` picks one of the last two by a plan.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from agentflow.context.strategies import Plan
from agentflow.context.summary import summary_message
from agentflow.context.tokens import estimate, room_chars
from agentflow.conversation.history import Exchange, History, exchanges, lean
from agentflow.message import Message

KeptReason = Literal["nothing_to_summarize", "failed", "blank", "unfinished", "not_smaller"]
"""Why the history stayed as it was (`context.kept`)."""

SUMMARY_CHARS = 8_000
"""Room set aside for a summary that is not written yet."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What the next model call would read.

    `path` is root first, its messages from index `turn_from` on belong to the current turn. `lean` says whether
    earlier turns are read lean in this step (X1, X2). `fixed_chars` are the characters of what no compaction can
    change: system prompt, tool schemas, texts of the step. `model` reads it: by its rules it is counted, and to it
    provider data is replayed (T15).
    """

    path: Sequence[Message]
    turn_from: int
    lean: bool
    fixed_chars: int
    model: str | None = None


@dataclass(frozen=True, slots=True)
class Cut:
    """A way to make room.

    `older` (of earlier turns, an earlier summary first) and `older_of_turn` are what goes, as the model has read it;
    `kept` are whole exchanges of the path, in order. Both sizes are characters of the request, without a summary.
    """

    older: tuple[Message, ...]
    older_of_turn: tuple[Message, ...]
    kept: tuple[Message, ...]
    chars_before: int
    chars_kept: int

    @property
    def tokens_before(self) -> int:
        return estimate(self.chars_before)

    def tokens_after(self, summary: str | None) -> int:
        """The estimate with that summary in place, or with none (X9)."""
        return estimate(self.chars_kept + (len(summary_message(summary)) if summary is not None else 0))


def refusal(cut: Cut, summary: str, finish: str | None) -> KeptReason | None:
    """Why a summary must not replace the history, null when it may (X9). `finish` is the reply's finish reason."""
    if not summary.strip():
        return "blank"
    if finish != "stop":
        return "unfinished"
    return None if cut.tokens_after(summary) < cut.tokens_before else "not_smaller"


def keep_recent(reading: Reading, count: int) -> Cut | None:
    """Keep the current turn and the `count` newest messages read before it, back to a whole exchange (X8).

    Null when nothing is left to summarize.
    """
    pieces, turn, _ = _split(reading)
    start, seen = turn, 0
    while start and seen < count:
        start -= 1
        seen += len(pieces[start].read)
    return _worth_it(_cut(reading, pieces, older=pieces[:start], of_turn=[], kept=pieces[start:]))


def make_room(plan: Plan, reading: Reading) -> Cut | None:
    """The cut of a plan, except that of `settings`; null when there is nothing to make room with."""
    if plan.use == "reset":
        return start_over(reading)
    return keep_turn(reading, limit=plan.limit, tokens=plan.tokens)


def keep_turn(reading: Reading, *, limit: int | None, tokens: int) -> Cut | None:
    """Keep the current turn; when it alone exceeds `limit` tokens, its older exchanges go too (X13).

    `tokens` is the count of the whole request: it tells how many characters the limit means. The messages that opened
    the turn, open calls and the last exchange always stay. A turn that has to be cut is cut to half of the room, so
    that the next call does not need another summary. Null when nothing is left to summarize.
    """
    pieces, turn, answered = _split(reading)
    opening, work = pieces[turn:answered], pieces[answered:]
    tail = 0
    if limit is not None:
        room = room_chars(limit, tokens, reading.fixed_chars + _chars(pieces))
        spare = room - reading.fixed_chars - SUMMARY_CHARS - _chars(opening)
        tail = _tail(work, spare // 2) if _chars(work) > spare else 0
    return _worth_it(_cut(reading, pieces, older=pieces[:turn], of_turn=work[:tail], kept=[*opening, *work[tail:]]))


def start_over(reading: Reading) -> Cut | None:
    """Keep the current turn, drop everything before it (X13, `reset`). Null when there is nothing before it."""
    pieces, turn, _ = _split(reading)
    return _cut(reading, pieces, older=pieces[:turn], of_turn=[], kept=pieces[turn:]) if turn else None


@dataclass(frozen=True, slots=True)
class _Piece:
    """An exchange of the path, the messages of it that are read, and their characters."""

    exchange: Exchange
    read: tuple[Message, ...]
    chars: int


def _split(reading: Reading) -> tuple[list[_Piece], int, int]:
    """The path in pieces, and where the messages that opened the current turn begin and end in it.

    A turn that brought no user message of its own (a reply is regenerated, a result was handed in) answers the last
    ones before it: they open it.
    """
    pieces, first, position = [], 0, 0
    for exchange in exchanges(reading.path):
        position += len(exchange.messages())
        earlier = position <= reading.turn_from
        first += earlier
        pieces.append(_piece(exchange, reading, earlier=earlier))
    if pieces and pieces[0].exchange.message.summary:
        first = max(first, 1)
    if first == len(pieces) or not _opens(pieces, first):
        first = _last_request(pieces, first)
    answered = first
    while answered < len(pieces) and _opens(pieces, answered):
        answered += 1
    return pieces, first, answered


def _piece(exchange: Exchange, reading: Reading, *, earlier: bool) -> _Piece:
    """An open call counts as answered with nothing: the request can only go out once it has a result."""
    if earlier and reading.lean:
        read = lean(exchange.messages())
        written = read
    else:
        read = list(exchange.messages())
        written = [*read, *(Message("", "tool", tool_call_id=call_id) for call_id in exchange.open)]
    history = History(reading.model)
    history.extend(written, model=None if earlier else reading.model)
    return _Piece(exchange, tuple(read), history.chars)


def _opens(pieces: Sequence[_Piece], index: int) -> bool:
    """Whether a message from outside stands there, not a reply and not the summary."""
    message = pieces[index].exchange.message
    return message.role != "assistant" and not (index == 0 and message.summary)


def _last_request(pieces: Sequence[_Piece], before: int) -> int:
    """Where the last run of requests before that place begins; the place itself when there is none."""
    end = before
    while end and not _opens(pieces, end - 1):
        end -= 1
    start = end
    while start and _opens(pieces, start - 1):
        start -= 1
    return start if end else before


def _tail(work: Sequence[_Piece], budget: int) -> int:
    """Where the newest part of a turn's work that fits `budget` characters begins; what must stay, stays anyway."""
    must_stay = [index for index, piece in enumerate(work) if piece.exchange.open][:1]
    replies = [index for index, piece in enumerate(work) if piece.exchange.message.role == "assistant"][-1:]
    start = min([*must_stay, *replies], default=0)
    budget -= _chars(work[start:])
    while start and budget >= work[start - 1].chars:
        start -= 1
        budget -= work[start].chars
    return start


def _cut(
    reading: Reading,
    pieces: Sequence[_Piece],
    *,
    older: Sequence[_Piece],
    of_turn: Sequence[_Piece],
    kept: Sequence[_Piece],
) -> Cut:
    return Cut(
        older=tuple(message for piece in older for message in piece.read),
        older_of_turn=tuple(message for piece in of_turn for message in piece.read),
        kept=tuple(message for piece in kept for message in piece.exchange.messages()),
        chars_before=reading.fixed_chars + _chars(pieces),
        chars_kept=reading.fixed_chars + _chars(kept),
    )


def _worth_it(cut: Cut) -> Cut | None:
    """The cut, unless it would summarize nothing or nothing but an earlier summary."""
    going = [*cut.older, *cut.older_of_turn]
    return cut if going and not (len(going) == 1 and going[0].summary) else None


def _chars(pieces: Iterable[_Piece]) -> int:
    return sum(piece.chars for piece in pieces)
