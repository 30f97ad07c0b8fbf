"""Which fields may hold a credential, by their names alone (Z4)."""

from __future__ import annotations

import re
from collections.abc import Sequence

MASK = "***"

_SECRET = re.compile(
    r"((api|access|private|secret|account|subscription|auth|session|signing|shared|master)[_-]?key([_-]?id)?"
    r"|secret|token|passw(or)?d|pwd|passphrase|authorization|credentials?|cookie|signature)$",
    re.IGNORECASE,
)
_OF_SECRETS = frozenset({"headers", "extra_headers", "default_headers", "env", "environ"})
_OF_CREDENTIALS = _OF_SECRETS | {"api_base", "base_url", "extra", "worker", "db", "url"}


def is_secret(key: object) -> bool:
    """Whether values under this key must never be shown: `api_key`, `*_secret`, `*_token`, passwords (A3)."""
    return isinstance(key, str) and _SECRET.search(key) is not None


def holds_secrets(path: Sequence[object]) -> bool:
    """Whether a text at this path of a file is a secret even where it is written into the file itself."""
    return any(is_secret(key) or (isinstance(key, str) and key.lower() in _OF_SECRETS) for key in path)


def may_hold_credentials(path: Sequence[object]) -> bool:
    """Whether what the environment gives a text at this path is a secret: `extra`, addresses, and all of the above."""
    return holds_secrets(path) or any(isinstance(key, str) and key.lower() in _OF_CREDENTIALS for key in path)
