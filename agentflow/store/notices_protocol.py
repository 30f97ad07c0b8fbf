"""What readers and turns ask of notices, and the notices of a database that nobody else uses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from agentflow.events import Event
from agentflow.live.event_feed import Subscription

SoFar = Callable[[], Sequence[Event]]
"""What a running turn has told so far of what is not logged yet: the text of its open replies."""


class Notices(Protocol):
    """Used in the runtime's loop, but for `committed` and `stop`, which the writer's thread calls."""

    @property
    def are_heard(self) -> bool:
        """Whether a reader who is not woken may be sure that nothing has happened, but for a net now and then."""

    @property
    def carry_replies(self) -> bool:
        """Whether pieces of replies come as they are said; otherwise their checkpoints are to be read."""

    def committed(self, sessions: Mapping[int, int]) -> None:
        """These sessions, by key, have events up to these numbers now."""

    def begin(self, key: int, so_far: SoFar) -> Callable[[Event], None] | None:
        """A turn runs here: what takes its unlogged events, null when they are told nobody."""

    def end(self, key: int) -> None:
        """No turn of this session runs here any more."""

    def watch(self, key: int, session_id: str, reader: Subscription) -> None:
        """Wake this reader when another process writes to the session, and give it what that one's turn says."""

    def unwatch(self, key: int, reader: Subscription) -> None:
        """The reader has left; nothing happens when it did not watch."""

    def stop(self) -> None:
        """Send what is to be sent, and no more; nobody waits for it."""

    def close(self) -> None:
        """Stop, and wait until it has."""


class NoNotices:
    """Of a database in memory, which has no other process."""

    @property
    def are_heard(self) -> bool:
        return False

    @property
    def carry_replies(self) -> bool:
        return False

    def committed(self, sessions: Mapping[int, int]) -> None:
        return None

    def begin(self, key: int, so_far: SoFar) -> Callable[[Event], None] | None:
        return None

    def end(self, key: int) -> None:
        return None

    def watch(self, key: int, session_id: str, reader: Subscription) -> None:
        return None

    def unwatch(self, key: int, reader: Subscription) -> None:
        return None

    def stop(self) -> None:
        return None

    def close(self) -> None:
        return None
