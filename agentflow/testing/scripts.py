"""The model of an agent under test: scripts, one after the other, and a record of what was asked."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import Any

from agentflow import ModelRequest, ScriptedModel

Replies = Sequence[Mapping[str, Any] | Callable[[ModelRequest], Any]] | Callable[[ModelRequest], Any]


class Scripts:
    """A model that answers from the latest script and notes every request: in `requests`, a list it shares, and in
    `asked`, its own.
    """

    scripted = True

    def __init__(self, name: str, requests: list[ModelRequest]) -> None:
        self.name = name
        self.asked: list[ModelRequest] = []
        self._requests = requests
        self._scripts: list[ScriptedModel] = []

    def add(self, replies: Replies) -> None:
        """From now on these replies."""
        self._scripts.append(ScriptedModel(replies, name=self.name))

    def stream(self, request: ModelRequest) -> AsyncGenerator[Any, None]:
        self._requests.append(request)
        self.asked.append(request)
        return self._scripts[-1].stream(request)

    async def close(self) -> None:
        """Nothing to release; the scripts go on in the next process."""

    def unused(self) -> int:
        """How many replies nobody has asked for."""
        return sum(len(script.unused()) for script in self._scripts)
