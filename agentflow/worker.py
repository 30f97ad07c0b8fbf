"""For a worker on HTTP: the signature that agentflow puts on each request, and the check of it (C34)."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Mapping

from agentflow import clock

__all__ = ["SIGNATURE", "TIMESTAMP", "WINDOW_SECS", "sign", "verify"]

TIMESTAMP = "X-Agentflow-Timestamp"
SIGNATURE = "X-Agentflow-Signature"
WINDOW_SECS = 300
"""How far the time of a request may be from now: an older one may have been recorded and sent again."""

_SECONDS = re.compile(r"[0-9]{1,12}")


def sign(secret: str, timestamp: str, body: bytes) -> str:
    """The value of the signature header: `sha256=` and the hex HMAC of the timestamp, a point and the body."""
    return f"sha256={hmac.new(secret.encode(), timestamp.encode() + b'.' + body, hashlib.sha256).hexdigest()}"


def verify(secret: str, headers: Mapping[str, str], body: bytes, *, now: float | None = None) -> bool:
    """Whether a request was signed with this secret, at most five minutes from `now` (seconds since 1970).

    `headers` in any case, `body` as it came, before it is parsed. Contract: never raises for what a request says,
    and takes the same time for every wrong signature.
    """
    given = {name.lower(): value for name, value in headers.items()}
    timestamp, signature = given.get(TIMESTAMP.lower(), ""), given.get(SIGNATURE.lower(), "")
    expected = sign(secret, timestamp, body) if timestamp.isascii() else ""
    matches = hmac.compare_digest(signature.encode("utf-8", "surrogatepass"), expected.encode())
    current = clock.now().timestamp() if now is None else now
    return matches and bool(_SECONDS.fullmatch(timestamp)) and abs(current - int(timestamp)) <= WINDOW_SECS
