"""No test talks to anybody else: connections and look-ups that leave this machine are refused."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable
from typing import Any


class NetworkRefused(RuntimeError):
    """Something in a test wanted to reach another machine; not an `OSError`, so that no client tries again."""


def refusing(connect: Callable[..., Any]) -> Callable[..., Any]:
    """`socket.socket.connect` or `connect_ex` for loopback and local sockets only."""

    def guarded(self: socket.socket, address: Any) -> Any:
        if self.family in (socket.AF_INET, socket.AF_INET6):
            check(address[0])
        return connect(self, address)

    return guarded


def looking_up(getaddrinfo: Callable[..., Any]) -> Callable[..., Any]:
    """`socket.getaddrinfo` for names that need no name server."""

    def guarded(host: Any, *args: Any, **options: Any) -> Any:
        if host is not None:
            check(host)
        return getaddrinfo(host, *args, **options)

    return guarded


def check(host: str | bytes) -> None:
    """Raises `NetworkRefused` unless `host` is this machine itself."""
    name = host.decode() if isinstance(host, bytes) else host
    if name not in ("", "localhost") and not _is_loopback(name):
        raise NetworkRefused(
            f"This test wanted to connect to {name!r}. Tests with the agentflow fixture reach nothing but loopback: "
            "script the model's replies, give the agent stub tools, or serve on 127.0.0.1."
        )


def _is_loopback(name: str) -> bool:
    try:
        return ipaddress.ip_address(name.partition("%")[0]).is_loopback
    except ValueError:
        return False
