"""Which page a browser asks for: without a key no page but our own may, nor anybody through a proxy (S9)."""

from __future__ import annotations

from collections.abc import Collection

from agentflow.server.access.headers import Headers
from agentflow.server.problems import Refusal

_PROXIED = ("forwarded", "x-real-ip", "via")
_OWN = ("same-origin", "none")
_READS = ("GET", "HEAD")


def check_proxy(headers: Headers) -> None:
    """Refuse what came through a proxy: whoever is in front of it would be trusted like this machine's owner (F01)."""
    if any(name in _PROXIED or name.startswith("x-forwarded-") for name in headers.names()):
        raise Refusal(
            "not_allowed", "This server has no key and was reached through a proxy: set a key, AGENTFLOW_API_KEY."
        )


def check_origin(headers: Headers, method: str, path: str, own: str, allowed: Collection[str]) -> None:
    """Refuse a request that a page of another origin than `own` makes, unless that origin is allowed."""
    origins, sites = headers.all("origin"), headers.all("sec-fetch-site")
    if origins and all(origin in allowed for origin in origins):
        return
    if method in _READS:
        foreign = "cross-site" in sites and not _is_navigation(headers, path)
    else:
        foreign = any(origin != own for origin in origins) or any(site not in _OWN for site in sites)
    if foreign:
        raise Refusal("not_allowed", "A page of another origin may not ask this server; --cors-origin URL allows one.")


def _is_navigation(headers: Headers, path: str) -> bool:
    return path == "/" and headers.one("sec-fetch-mode") == "navigate"
