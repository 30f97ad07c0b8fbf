"""Tokens of browsers: whose they are, until when, for which agents (S10)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jwt

from agentflow import clock
from agentflow.server.access.subject import Subject

MOST_SECS = 86_400
_ALGORITHM = "HS256"
_CLAIMS = ("sub", "exp", "iat")


def make_token(secret: str, subject: str, seconds: int, agents: Sequence[str] | None) -> tuple[str, int]:
    """A token, and the second since 1970 at which it ends."""
    now = clock.instant() // clock.SECOND
    ends = now + seconds
    said: dict[str, Any] = {"sub": subject, "iat": now, "exp": ends}
    if agents is not None:
        said["agents"] = list(agents)
    return jwt.encode(said, secret, _ALGORITHM), ends


def read_token(secret: str, token: str) -> Subject | None:
    """The user of a token; null for one that was altered, signed by somebody else, not signed, or is over."""
    options: Any = {"verify_exp": False, "verify_iat": False, "require": list(_CLAIMS)}
    try:
        said = jwt.decode(token, secret, [_ALGORITHM], options)
    except jwt.PyJWTError:
        return None
    subject, ends, agents = said["sub"], said["exp"], said.get("agents")
    is_sound = isinstance(subject, str) and subject and type(ends) is int
    if not is_sound or ends <= clock.instant() // clock.SECOND:
        return None
    allowed = None if agents is None else tuple(str(each) for each in agents)
    return Subject("token", f"user:{subject}", subject, allowed, ends)
