"""Tools that answer without being run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Stub:
    """What a call of `tool` with these arguments, and maybe others, gets: `{"result": ...}` or `{"error": ...}`."""

    tool: str
    when: Mapping[str, Any]
    given: Mapping[str, Any]

    def fits(self, tool: str, arguments: Mapping[str, Any]) -> bool:
        return tool == self.tool and all(
            name in arguments and arguments[name] == value for name, value in self.when.items()
        )


class Stubs:
    """Those that fit a call answer one after the other, the last for good."""

    def __init__(self) -> None:
        self._stubs: list[Stub] = []
        self._used: set[int] = set()

    def add(self, tool: str, when: Mapping[str, Any], given: Mapping[str, Any]) -> None:
        self._stubs.append(Stub(tool, when, given))

    def answer(self, tool: str, arguments: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """What the call gets; null for one that no stub fits."""
        fitting = [index for index, stub in enumerate(self._stubs) if stub.fits(tool, arguments)]
        if not fitting:
            return None
        taken = next((index for index in fitting if index not in self._used), fitting[-1])
        self._used.add(taken)
        return self._stubs[taken].given

    def mark(self) -> Callable[[], None]:
        """Calling what is returned goes back to the answers that are left now."""
        used = set(self._used)

        def go_back() -> None:
            self._used = set(used)

        return go_back
