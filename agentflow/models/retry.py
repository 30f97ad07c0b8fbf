"""Whether and when a failed model call is tried again: attempt in, delay or stop out. Pure (T16)."""

from __future__ import annotations

import zlib

from agentflow.errors import ModelError

FIRST_DELAY_SECS = 0.5
LONGEST_DELAY_SECS = 30.0
LONGEST_RETRY_AFTER_SECS = 60.0

RETRYABLE = frozenset({"rate_limited", "unavailable", "timeout", "cut"})


def retry_delay(error: ModelError, attempt: int, retries: int, *, jitter: float = 0.0) -> float | None:
    """Seconds to wait before the next attempt, or null to give up. Asked only while nothing was shown (T12).

    `attempt` counts the calls made so far, from 1; `retries` of them may follow the first. `Retry-After` is kept to
    exactly; a provider that wants more patience than a minute gets none. Otherwise the delay doubles from half a
    second up to half a minute; `jitter` (0 to 1) lengthens it by up to that share.
    """
    if error.kind not in RETRYABLE or attempt > retries:
        return None
    if error.retry_after is not None:
        return error.retry_after if error.retry_after <= LONGEST_RETRY_AFTER_SECS else None
    doubled = FIRST_DELAY_SECS * 2.0 ** min(attempt - 1, 16)
    return min(doubled * (1.0 + jitter), LONGEST_DELAY_SECS)


def jitter(call_id: str, attempt: int) -> float:
    """A share from 0 to 1 that differs from call to call, so that clients refused together do not return together;
    made of the call's id, so that a run told again is the same run.
    """
    return zlib.crc32(f"{call_id}/{attempt}".encode()) / 2**32
