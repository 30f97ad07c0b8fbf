"""A session's events as one stream: the log, then live, in order and without a gap (T42)."""

from __future__ import annotations

from collections.abc import AsyncIterator

from agentflow import clock, events
from agentflow.conversation import arguments
from agentflow.errors import InvalidInput, SessionNotFound
from agentflow.events import Event
from agentflow.live.event_feed import Feeds
from agentflow.message import TurnState
from agentflow.reading.lookup import session_of, step_of, turn_of
from agentflow.reading.pieces import Pieces
from agentflow.reading.status import STANDING_STILL, is_dead, is_running
from agentflow.store.cause import cause_of, naming_damage
from agentflow.store.protocol import Store
from agentflow.store.records import SessionRecord

POLL_SECS = 0.25
NET_SECS = 1.0
"""How often a reader looks by itself who is told of what others write (S3)."""
_PAGE = 500


async def stream(
    store: Store, feeds: Feeds, session_id: str, after_seq: int, turn_id: str | None, *, follow: bool
) -> AsyncIterator[Event]:
    """The events after `after_seq`; with `turn_id` those of that turn alone, up to its last or next `done`.

    Live events come from the feeds of this process, those of other processes from the log. Raises `SessionNotFound`,
    `TurnNotFound`, `InvalidInput`.
    """
    async with naming_damage(store, session_id):
        record = await _begun(store, session_id, after_seq)
        end = await _end(store, record, turn_id, follow=arguments.flag(follow, "follow"))
    ears = _Ears(store, feeds, record)
    seq, replies = after_seq, _Replies()
    try:
        while True:
            ears.prick()
            page = await store.events(session_id, seq, _PAGE)
            for event in page:
                seq = event.seq or seq
                replies.note(event)
                if end.tells(event):
                    yield event
                if end.after(event):
                    return
            if len(page) == _PAGE:
                continue
            if await _stands_still(store, record, seq, end):
                if end.turn_id is not None and (end.live or end.died):
                    yield _died(session_id, end.turn_id)
                return
            for event in await ears.kept():
                for piece in replies.new(event):
                    if end.tells(piece):
                        yield piece
            # As long as something comes, and comes without a gap, it is all there is to read.
            behind = False
            while not behind and (taken := await ears.take()):
                for event in taken:
                    if event.seq is None:
                        for piece in replies.new(event):
                            if end.tells(piece):
                                yield piece
                    elif event.seq == seq + 1:
                        seq = event.seq
                        replies.note(event)
                        if end.tells(event):
                            yield event
                        if end.after(event):
                            return
                    elif event.seq > seq + 1 or event.type == events.SESSION_CREATED:
                        behind = True  # another process wrote in between, or the session was erased: look
                        break
    except Exception as error:
        raise await cause_of(error, store, session_id)  # noqa: B904  # the error itself, or one that has it as cause
    finally:
        ears.close()


class _Ears:
    """How one reader hears of a session: from the feed of this process, and from the notices of the others."""

    def __init__(self, store: Store, feeds: Feeds, record: SessionRecord) -> None:
        self._store, self._feeds, self._record = store, feeds, record
        self._subscription = feeds.subscribe(record.id)
        self._watches = False

    def prick(self) -> None:
        """Before the log is read: what is written after it will be heard."""
        if self._subscription.is_behind:
            self.close()
            self._subscription = self._feeds.subscribe(self._record.id)
        watches = not self._feeds.is_running(self._record.id)
        if watches and not self._watches:
            self._store.notices.watch(self._record.key, self._record.id, self._subscription)
        elif self._watches and not watches:
            self._store.notices.unwatch(self._record.key, self._subscription)
        self._watches = watches

    async def take(self) -> list[Event]:
        notices = self._store.notices
        return await self._subscription.take(NET_SECS if self._watches and notices.are_heard else POLL_SECS)

    async def kept(self) -> list[Event]:
        """The replies of another process's turn so far, as it has kept them, where they are not told as they come."""
        if not self._watches or self._store.notices.carry_replies:
            return []
        record = await self._store.session(self._record.id)
        if record is None or record.running_turn is None:
            return []
        shown = await self._store.shown(record.key, record.running_turn)
        at = clock.instant()
        return [
            Event(
                record.id, None, record.running_turn, at, events.LLM_DELTA, {"call_id": id_, "offset": 0, "text": text}
            )
            for id_, text in shown
        ]

    def close(self) -> None:
        self._feeds.unsubscribe(self._record.id, self._subscription)
        if self._watches:
            self._store.notices.unwatch(self._record.key, self._subscription)
            self._watches = False


class _Replies:
    """The pieces of replies that are not recorded yet, each once."""

    def __init__(self) -> None:
        self._pieces = Pieces()
        self._completed: set[str] = set()

    def note(self, event: Event) -> None:
        """Hear what the log says."""
        if event.type in (events.LLM_CALL_COMPLETED, events.LLM_CALL_ERRORED):
            self._completed.add(event.data["call_id"])
            self._pieces.over(event.data["call_id"])

    def new(self, event: Event) -> list[Event]:
        """What of an event that is not logged has not been told yet."""
        return [] if event.data.get("call_id") in self._completed else self._pieces.add(event)


class _End:
    """Where a stream of events ends: after a sequence number, or after a turn's first `done` from one on.

    A turn that `died` has no such `done`: its process is gone and nobody has repaired it yet.
    """

    def __init__(self, turn_id: str | None, seq: int | None, *, live: bool, died: bool = False) -> None:
        self.turn_id = turn_id
        self.live = live
        self.died = died
        self._seq = seq

    def tells(self, event: Event) -> bool:
        """Whether the event is one of those asked for: of this turn, before it ran also that it waits."""
        if self.turn_id is None or event.turn_id == self.turn_id:
            return True
        return event.type == events.TURN_QUEUED and event.data["turn_id"] == self.turn_id

    def after(self, event: Event) -> bool:
        if self._seq is None or event.seq is None:
            return False
        if self.turn_id is None:
            return event.seq >= self._seq
        return event.type == events.DONE and event.turn_id == self.turn_id and event.seq >= self._seq


async def _begun(store: Store, session_id: str, after_seq: int) -> SessionRecord:
    record = await session_of(store, session_id)
    if arguments.whole_number(after_seq, "after_seq") > record.seq:
        raise InvalidInput(
            f"after_seq: session {session_id!r} has {record.seq} events; there is none after {after_seq} yet.",
            detail={"field": "after_seq", "session_id": session_id},
        )
    return record


async def _end(store: Store, record: SessionRecord, turn_id: str | None, *, follow: bool) -> _End:
    if turn_id is None:
        return _End(None, None if follow else record.seq, live=follow)
    ref = await turn_of(store, record, turn_id)
    step = await step_of(store, record, ref)
    if step is not None and step.turn_state not in STANDING_STILL and is_dead(record, step):
        return _End(ref.id, None, live=False, died=True)
    if step is None or step.turn_state not in STANDING_STILL:
        return _End(ref.id, record.seq + 1, live=True)
    return _End(ref.id, step.done_seq, live=False)


async def _stands_still(store: Store, begun: SessionRecord, seq: int, end: _End) -> bool:
    """The log is read to its end: will anything more come that this reader waits for?

    Raises `SessionNotFound` when the session was erased meanwhile, whether or not its id is used again (R12).
    """
    if not end.live:
        return True
    # The turn first, the session after it: one that begins between the two is found running.
    ref = None if end.turn_id is None else await store.turn(begun.key, end.turn_id)
    record = await session_of(store, begun.id)
    if record.key != begun.key:
        raise SessionNotFound(f"Session {begun.id!r} was erased.", detail={"session_id": begun.id})
    if end.turn_id is None:
        return False
    waits = ref is not None and ref.number is None
    return not waits and not is_running(record) and record.seq <= seq


def _died(session_id: str, turn_id: str) -> Event:
    """The terminal event of a turn whose process is gone and which nobody has repaired yet (T42)."""
    data = events.done(turn_id, None, TurnState.ABORTED, 0).full
    return Event(session_id, None, turn_id, clock.instant(), events.DONE, data)
