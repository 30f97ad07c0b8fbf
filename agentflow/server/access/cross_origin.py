"""What pages of other origins may read and send, for the origins that were allowed (S11)."""

from __future__ import annotations

from collections.abc import Collection

from agentflow.server.access.headers import Headers

Pairs = list[tuple[bytes, bytes]]

_EXPOSED = "Location, ETag, Retry-After"
_SENT = "Authorization, Content-Type, Accept, Last-Event-ID, Idempotency-Key, If-Match, If-None-Match"
_METHODS = "GET, POST, PUT, PATCH, DELETE"
_KEEP_SECS = "600"


def answer_headers(headers: Headers, allowed: Collection[str]) -> Pairs:
    """What every answer says to the page that asks, errors and streams too; nothing while no origin is allowed."""
    if not allowed:
        return []
    origin = headers.one("origin")
    if origin is None or origin not in allowed:
        return _pairs({"Vary": "Origin"})
    return _pairs({"Vary": "Origin", "Access-Control-Allow-Origin": origin, "Access-Control-Expose-Headers": _EXPOSED})


def preflight(headers: Headers, method: str, allowed: Collection[str]) -> Pairs | None:
    """The answer to a browser that asks whether it may, null for any other request."""
    origin = headers.one("origin")
    if method != "OPTIONS" or origin is None or headers.one("access-control-request-method") is None:
        return None
    if origin not in allowed:
        return []
    return _pairs(
        {
            "Access-Control-Allow-Methods": _METHODS,
            "Access-Control-Allow-Headers": _SENT,
            "Access-Control-Max-Age": _KEEP_SECS,
        }
    )


def _pairs(headers: dict[str, str]) -> Pairs:
    return [(name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()]
