"""Models whose replies are written to a file as they come."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path

from agentflow import clock
from agentflow.config.agent_config import Interface
from agentflow.errors import InvalidInput, ModelError
from agentflow.models.assembly import Assembler, Reply
from agentflow.models.open import open_model
from agentflow.models.protocol import Delta, FinishReason, Loading, Model, ModelRequest, parameters_of, reads_of
from agentflow.models.recording.recording_file import append, first_line, lines_of, read_recording
from agentflow.models.recording.request import comparable
from agentflow.models.script import ERROR_KINDS, Failure


class Recorder:
    """Opens models as usual and writes what they reply into a file: `Runtime.open(open_model=Recorder(FILE))`.

    A file that is there already is added to. Secrets are taken out of what is written. Calls that were cancelled
    leave nothing. Raises `InvalidInput` for a file that is no recording or cannot be written.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        self._known: set[str] = set()
        self._writing = threading.Lock()  # models of one recorder write from threads of their own
        if self._path.exists() and self._path.stat().st_size:
            self._known.update(read_recording(self._path).parts)
        else:
            self._append(first_line())

    def __call__(self, interface: Interface, folder: Path) -> Model:
        return _RecordedModel(open_model(interface, folder, f"recording\n{self._path}"), self)

    def keep(self, request: ModelRequest, model: str, reply: Reply, failure: Failure | None) -> None:
        """Write one reply. Raises `ModelError` when the file cannot be written: a recording has no holes."""
        asked, parts = comparable(request, clock.now().date())
        with self._writing:
            try:
                self._append(lines_of(asked, model, parts, reply, failure, self._known))
            except InvalidInput as error:
                raise ModelError("script", error.message) from None
            self._known.update(asked.parts)

    def _append(self, text: str) -> None:
        try:
            append(self._path, text)
        except OSError as error:
            raise InvalidInput(
                f"{self._path}: the recording cannot be written: {error}", detail={"field": "recording"}
            ) from None


class _RecordedModel:
    def __init__(self, model: Model, recorder: Recorder) -> None:
        self.name, self.scripted = model.name, model.scripted
        self.own_timeout_secs: float | None = getattr(model, "own_timeout_secs", None)
        self.parameters = parameters_of(model)
        self._model = model
        self._recorder = recorder

    @property
    def reads(self) -> frozenset[str] | None:
        return reads_of(self._model)

    def is_loaded(self) -> bool:
        return not isinstance(self._model, Loading) or self._model.is_loaded()

    async def load(self) -> None:
        if isinstance(self._model, Loading):
            await self._model.load()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta, None]:
        heard = Assembler()
        held: list[Delta] = []  # who has heard the end may go: it is told when the reply stands in the file
        try:
            async with aclosing(self._model.stream(request)) as deltas:
                async for delta in deltas:
                    heard.feed(delta)
                    if held or isinstance(delta, FinishReason):
                        held.append(delta)
                    else:
                        yield delta
        except ModelError as error:
            if error.kind in ERROR_KINDS:
                await self._keep(request, heard.reply(), error)
            raise
        await self._keep(request, heard.reply(), None)
        for delta in held:
            yield delta

    async def close(self) -> None:
        await self._model.close()

    async def _keep(self, request: ModelRequest, reply: Reply, error: ModelError | None) -> None:
        said = len(reply.text) + sum(len(call.arguments) for call in reply.tool_calls)
        failure: Failure | None = None
        if error is not None:
            failure = Failure(error.kind, said, error.retry_after)
        elif reply.finish_reason is None:
            failure = Failure("cut", said)
        await asyncio.to_thread(self._recorder.keep, request, self.name, reply, failure)
