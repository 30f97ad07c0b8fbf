"""Models that reply what a recording has for a request, without network."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from pathlib import Path

from agentflow import clock
from agentflow.config.agent_config import Interface
from agentflow.errors import ModelError
from agentflow.models.protocol import Delta, Model, ModelRequest
from agentflow.models.recording.recording_file import read_recording
from agentflow.models.recording.request import Asked, comparable, difference, nearest
from agentflow.models.script import ScriptedReply
from agentflow.models.scripted_model import play


class Replay:
    """Replies from a recording in place of models: `Runtime.open(open_model=Replay(FILE))`.

    A reply is given to the request it was recorded for, whatever ids and times that has now, and once; several for
    one request in the order they were recorded in. Any other request fails with `model_error.script`, which shows the
    nearest recorded one and the first difference. Raises `InvalidInput` for a file that is no recording.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        self._recording = read_recording(self._path)
        self._left: dict[Asked, deque[tuple[int, ScriptedReply]]] = {}
        self._used: set[int] = set()
        for number, recorded in enumerate(self._recording.replies):
            self._left.setdefault(recorded.asked, deque()).append((number, recorded.reply))

    def __call__(self, interface: Interface, folder: Path) -> Model:
        return _ReplayingModel(interface.model, self)

    def unused(self) -> tuple[int, ...]:
        """Which replies of the file, counted from 0, nobody has asked for."""
        return tuple(number for number in range(len(self._recording.replies)) if number not in self._used)

    async def take(self, request: ModelRequest) -> ScriptedReply:
        """The next reply for a request. Raises `ModelError`."""
        asked, parts = await asyncio.to_thread(comparable, request, clock.now().date())
        left = self._left.get(asked)
        if left:
            number, reply = left.popleft()
            self._used.add(number)
            return reply
        if left is not None:
            raise ModelError("script", f"{self._path}: each reply recorded for this request was given already.")
        near = nearest(asked, list(self._left))
        if near is None:
            raise ModelError("script", f"{self._path}: nothing was recorded.")
        which = next(n for n, each in enumerate(self._recording.replies, 1) if each.asked == near)
        told = difference(asked, near, self._recording.parts | parts)
        raise ModelError(
            "script", f"{self._path}: nothing was recorded for this request. The nearest is reply {which}: {told}."
        )


class _ReplayingModel:
    scripted = True

    def __init__(self, name: str, replay: Replay) -> None:
        self.name = name
        self._replay = replay

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta, None]:
        reply = await self._replay.take(request)
        async for delta in play(reply, request, self.name):
            yield delta

    async def close(self) -> None:
        """Nothing is kept open."""
