"""The head of a request, as the checks read it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


class Headers:
    """Headers by lower-case name; one may come more than once."""

    def __init__(self, raw: Iterable[tuple[bytes, bytes]]) -> None:
        self._values: dict[str, list[str]] = {}
        for name, value in raw:
            self._values.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))

    def all(self, name: str) -> list[str]:
        return self._values.get(name, [])

    def one(self, name: str) -> str | None:
        """The only value of this name; null when there is none, or more than one."""
        values = self.all(name)
        return values[0] if len(values) == 1 else None

    def names(self) -> Iterable[str]:
        return self._values.keys()


def headers_of(scope: Mapping[str, Any]) -> Headers:
    """The headers of an ASGI scope."""
    return Headers(scope["headers"])
