"""No test talks to anybody else: connections and look-ups that leave this machine are refused.

Whoever was refused may have swallowed it, as a model's client or a tool does: what was refused is kept in `refused`.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable
from typing import Any

import pytest


class NetworkRefused(RuntimeError):
    """Something in a test wanted to reach another machine; not an `OSError`, so that no client tries again."""


ADVICE = (
    "Tests with the agentflow fixture reach nothing but loopback: script the model's replies, give the agent stub "
    "tools, or serve on 127.0.0.1."
)

refused: list[NetworkRefused] = []


def refusing(connect: Callable[..., Any]) -> Callable[..., Any]:
    """`socket.socket.connect` or `connect_ex` for loopback and local sockets only."""

    def guarded(self: socket.socket, address: Any) -> Any:
        if self.family in (socket.AF_INET, socket.AF_INET6):
            check(address[0])
        return connect(self, address)

    return guarded


def sending(sendto: Callable[..., Any]) -> Callable[..., Any]:
    """`socket.socket.sendto`, whose address comes last, for loopback and local sockets only."""

    def guarded(self: socket.socket, *given: Any) -> Any:
        if self.family in (socket.AF_INET, socket.AF_INET6):
            check(given[-1][0])
        return sendto(self, *given)

    return guarded


def looking_up(look_up: Callable[..., Any]) -> Callable[..., Any]:
    """`socket.getaddrinfo` and its like for names that need no name server."""

    def guarded(host: Any, *args: Any, **options: Any) -> Any:
        if host is not None:
            check(host)
        return look_up(host, *args, **options)

    return guarded


def close(patch: pytest.MonkeyPatch) -> None:
    """Refuse whatever leaves this machine until the patch is undone."""
    for name in ("connect", "connect_ex"):
        patch.setattr(socket.socket, name, refusing(getattr(socket.socket, name)))
    patch.setattr(socket.socket, "sendto", sending(socket.socket.sendto))
    for name in ("getaddrinfo", "gethostbyname", "gethostbyname_ex"):
        patch.setattr(socket, name, looking_up(getattr(socket, name)))


def check(host: str | bytes) -> None:
    """Raises `NetworkRefused` unless `host` is this machine itself."""
    name = host.decode() if isinstance(host, bytes) else host
    if name not in ("", "localhost") and not _is_loopback(name):
        error = NetworkRefused(f"This test wanted to connect to {name!r}. {ADVICE}")
        refused.append(error)
        raise error


def _is_loopback(name: str) -> bool:
    try:
        return ipaddress.ip_address(name.partition("%")[0]).is_loopback
    except ValueError:
        return False
