"""The one reader of the wall clock, and the ids made from it (T38).

An instant is stored as a whole number of microseconds since the epoch, so that no database, driver or zone
can shift or compare it wrongly. Durations never come from here: the running event loop's own clock measures them.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

Instant = int  # microseconds since 1970-01-01T00:00:00Z
NewId = Callable[[], str]

SECOND: Instant = 1_000_000
MILLISECOND: Instant = 1_000

_NOISE_BYTES = 9

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def now() -> datetime:
    """The current time, aware, in UTC."""
    return datetime.now(UTC)


def instant() -> Instant:
    """The current time as the store keeps it."""
    return (now() - _EPOCH) // _MICROSECOND


def to_datetime(at: Instant) -> datetime:
    """The aware UTC datetime of a stored instant."""
    return _EPOCH + timedelta(microseconds=at)


def rfc3339(at: Instant) -> str:
    """A stored instant as the API shows it, with offset (R13): `2026-11-30T09:30:00.000000+00:00`."""
    return to_datetime(at).isoformat(timespec="microseconds")


class _Uuid7:
    """UUIDv7 after RFC 9562: 48 bits of milliseconds, then a counter that only grows inside one millisecond."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = 0
        self._noise = b""  # drawn in bulk: each draw lets go of the interpreter's lock
        self._drawn = 0
        os.register_at_fork(after_in_child=self._forget)

    def __call__(self) -> str:
        milliseconds = instant() // 1000
        with self._lock:
            noise = self._draw()
            candidate = milliseconds << 74 | noise << 1
            # A clock that stands still or steps back must not break the order ids were made in.
            self._last = candidate if candidate > self._last else self._last + 1 + (noise & 0xFF)
            value = self._last
        high, low = value >> 74 << 12 | value >> 62 & 0xFFF, value & (1 << 62) - 1
        digits = f"{high >> 12:012x}7{high & 0xFFF:03x}{0b10 << 62 | low:016x}"
        return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"

    def _draw(self) -> int:
        """72 random bits."""
        if self._drawn >= len(self._noise):
            self._noise, self._drawn = os.urandom(_NOISE_BYTES * 256), 0
        start, self._drawn = self._drawn, self._drawn + _NOISE_BYTES
        return int.from_bytes(self._noise[start : self._drawn], "big")

    def _forget(self) -> None:
        """A forked child must not make its parent's ids."""
        self._lock, self._noise, self._drawn = threading.Lock(), b"", 0


uuid7: NewId = _Uuid7()
"""A fresh id, sortable by the time it was made (C3)."""
