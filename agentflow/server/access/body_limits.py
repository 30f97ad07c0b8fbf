"""What the body of a request may be: JSON, unpacked, and no longer than allowed, counted as it arrives (S11, F18)."""

from __future__ import annotations

from starlette.types import Message, Receive

from agentflow.server.access.headers import Headers
from agentflow.server.problems import Refusal

MOST_BYTES = 32_000_000

_TYPES = ("application/json", "application/x-ndjson")


def check_body(headers: Headers) -> None:
    """Refuse a body by what the head says of it."""
    length = headers.one("content-length")
    if headers.all("content-encoding") not in ([], ["identity"]):
        raise Refusal("unsupported_media_type", "A body is taken as it is: send it without Content-Encoding.")
    if not _has_body(headers, length):
        return
    if length is not None and length.isdecimal() and int(length[:20]) > MOST_BYTES:
        raise _too_large()
    media_type = (headers.one("content-type") or "").partition(";")[0].strip().lower()
    if media_type not in _TYPES:
        raise Refusal("unsupported_media_type", "A body is JSON: send it with Content-Type: application/json.")


def _has_body(headers: Headers, length: str | None) -> bool:
    return bool(headers.all("transfer-encoding")) or length not in (None, "0")


def limited(receive: Receive) -> Receive:
    """The same messages, until their body is longer than allowed: then `Refusal`."""
    size = 0

    async def counted() -> Message:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > MOST_BYTES:
            raise _too_large()
        return message

    return counted


def _too_large() -> Refusal:
    return Refusal("body_too_large", f"The body has more than {MOST_BYTES:,} bytes.", headers={"Connection": "close"})
