"""Where a reader goes on: the number of the last event it has, of which log (S6, F08)."""

from __future__ import annotations

import re
from dataclasses import dataclass

_CURSOR = re.compile(r"(\d{1,18})-([0-9a-f]{6})")


@dataclass(frozen=True, slots=True)
class Start:
    """Events after `after` are sent; `resync` says that the reader's own place is not in this log."""

    after: int
    resync: bool = False


def start_of(last_event_id: str | None, after: int | None, *, begin: int, seq: int, log_id: str) -> Start:
    """Where a stream starts: behind the last event the reader names, else behind `after`, else at `begin`.

    `seq` is the last number of the log. A place that is no number, beyond the log, or of a log that was erased is
    none: the reader starts anew, and is told.
    """
    if last_event_id:
        found = _CURSOR.fullmatch(last_event_id)
        if found is None or found[2] != log_id or int(found[1]) > seq:
            return Start(begin, resync=True)
        return Start(int(found[1]))
    if after is None:
        return Start(begin)
    return Start(begin, resync=True) if after > seq else Start(after)
