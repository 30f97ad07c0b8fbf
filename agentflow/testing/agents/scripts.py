"""The model of an agent under test: scripts, one after the other, and a record of what was asked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import Any

from agentflow import ModelRequest, ScriptedModel

Replies = Sequence[Mapping[str, Any] | Callable[[ModelRequest], Any]] | Callable[[ModelRequest], Any]


class Gate:
    """While it is shut, the models behind it say nothing."""

    def __init__(self) -> None:
        self._shut: asyncio.Event | None = None

    def shut(self) -> None:
        if self._shut is None:
            self._shut = asyncio.Event()

    def open(self) -> None:
        if self._shut is not None:
            self._shut.set()
            self._shut = None

    async def passed(self, deltas: AsyncGenerator[Any, None]) -> AsyncGenerator[Any, None]:
        """What comes of a stream, once the gate is open."""
        while self._shut is not None:
            await self._shut.wait()
        async for delta in deltas:
            yield delta


class Scripts:
    """A model that answers from the latest script and notes every request: in `requests`, a list it shares, and in
    `asked`, its own.
    """

    scripted = True

    def __init__(self, name: str, requests: list[ModelRequest], gate: Gate) -> None:
        self.name = name
        self._gate = gate
        self.asked: list[ModelRequest] = []
        self._requests = requests
        self._scripts: list[ScriptedModel] = []
        self._latest: Replies = ()

    def add(self, replies: Replies) -> None:
        """From now on these replies."""
        self._latest = replies
        self._scripts.append(ScriptedModel(replies, name=self.name))

    def stream(self, request: ModelRequest) -> AsyncGenerator[Any, None]:
        self._requests.append(request)
        self.asked.append(request)
        if request.purpose == "title" and not self._reckons_with_titles():
            return ScriptedModel((), name=self.name).stream(request)  # which has none: no reply is meant for it
        return self._gate.passed(self._scripts[-1].stream(request))

    def _reckons_with_titles(self) -> bool:
        """A session is named beside its turns, when a later script may have taken the place of the turn's own."""
        if callable(self._latest) or len(self._scripts) == 1:
            return True
        return any(callable(reply) or "purpose" in reply.get("when", {}) for reply in self._latest)

    async def close(self) -> None:
        """Nothing to release; the scripts go on in the next process."""

    def unused(self) -> int:
        """How many replies nobody has asked for."""
        return sum(len(script.unused()) for script in self._scripts)

    def left(self) -> Replies:
        """What the latest script has yet to say."""
        if callable(self._latest):
            return self._latest
        unused = set(self._scripts[-1].unused())
        return [
            reply
            for index, reply in enumerate(self._latest)
            if index in unused or (isinstance(reply, Mapping) and reply.get("repeat"))
        ]
