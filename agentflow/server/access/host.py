"""Which server a request names: a page that has renamed its own server to ours is refused (S9, F03)."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection

from agentflow.server.access.headers import Headers
from agentflow.server.problems import Refusal

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")

_HOST = re.compile(r"(\[[0-9a-fA-F:.]{2,45}\]|[A-Za-z0-9._-]{1,253}?)\.?(?::\d{1,5})?")


def check_host(headers: Headers, path: str, allowed: Collection[str] | None) -> None:
    """Refuse a request that names no host, more than one, or none of the `allowed`; null allows every name."""
    host = headers.one("host")
    found = None if host is None else _HOST.fullmatch(host)
    if found is None or not path.startswith("/") or (allowed is not None and found[1].lower() not in allowed):
        raise Refusal(
            "unknown_host",
            "This server does not answer to that host name; start it with --allow-host NAME, or create_app(hosts=...).",
        )


def is_loopback(server: object) -> bool:
    """Whether the socket that took a request, `(host, port)` of its ASGI scope, is one of this machine alone."""
    if not isinstance(server, list | tuple) or not server or not isinstance(server[0], str) or server[1] is None:
        return False
    name = server[0].partition("%")[0]
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return name == "localhost"
