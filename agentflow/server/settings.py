"""What a server was started with."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from agentflow import InvalidConfig

API_KEY = "AGENTFLOW_API_KEY"
TOKEN_SECRET = "AGENTFLOW_TOKEN_SECRET"
LEAST_SECRET_BYTES = 32


@dataclass(frozen=True, slots=True)
class Settings:
    """`hosts` are names it answers to beside those of loopback, `origins` whose pages may call it from elsewhere.

    Without `keys` it answers on loopback only, unless it is `open`. `token_secret` signs the tokens of browsers;
    without one there are none. `drain_secs`: how long turns that run have when the server ends.
    """

    project: Path
    db: str | None = None
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    token_secret: str | None = None
    open: bool = False
    drain_secs: float = 10.0


def read_settings(
    project: str | Path,
    *,
    db: str | None = None,
    hosts: Sequence[str] = (),
    origins: Sequence[str] = (),
    open: bool = False,
    drain_secs: float = 10.0,
    environment: Mapping[str, str] | None = None,
) -> Settings:
    """The settings, with key and secret from the environment. Raises `InvalidConfig`."""
    variables = os.environ if environment is None else environment
    key, secret = variables.get(API_KEY), variables.get(TOKEN_SECRET)
    if secret and len(secret.encode()) < LEAST_SECRET_BYTES:
        raise InvalidConfig(f"{TOKEN_SECRET} needs at least {LEAST_SECRET_BYTES} bytes; make one of random bytes.")
    return Settings(
        Path(project),
        db,
        tuple(hosts),
        tuple(origins),
        (key,) if key else (),
        secret or None,
        open,
        drain_secs,
    )
