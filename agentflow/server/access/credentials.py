"""Who asks, by the `Authorization` header and by nothing else (S9, S10, F19)."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from typing import Any

from agentflow.server.access.headers import Headers
from agentflow.server.access.host import is_loopback
from agentflow.server.access.subject import ANYBODY, Subject
from agentflow.server.access.tokens import read_token
from agentflow.server.problems import Refusal
from agentflow.server.settings import API_KEY, Settings

_BEARER = "bearer "


def subject_of(scope: Mapping[str, Any], headers: Headers, settings: Settings) -> Subject:
    """The subject of a request. Raises `Refusal`, the same for every wrong credential."""
    if not settings.keys:
        if not settings.open and not is_loopback(scope.get("server")):
            raise _unauthorized(f"This server has no key and answers on loopback only; set {API_KEY}.")
        return ANYBODY
    given = headers.one("authorization")
    if given is None or not given.lower().startswith(_BEARER):
        raise _unauthorized("This server asks for a key: send `Authorization: Bearer KEY`.")
    credential = given[len(_BEARER) :].strip()
    subject = _of_key(credential, settings) or _of_token(credential, settings)
    if subject is None:
        raise _unauthorized("This key or token is not one that this server takes.")
    return subject


def _of_key(credential: str, settings: Settings) -> Subject | None:
    """All keys are compared, each in the same time."""
    name = _digest(credential)
    matches = [hmac.compare_digest(name, _digest(key)) for key in settings.keys]
    return Subject("key", f"key:{name[:16]}") if any(matches) else None


def _of_token(credential: str, settings: Settings) -> Subject | None:
    return None if settings.token_secret is None else read_token(settings.token_secret, credential)


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _unauthorized(why: str) -> Refusal:
    return Refusal("unauthorized", why, headers={"WWW-Authenticate": "Bearer"})
