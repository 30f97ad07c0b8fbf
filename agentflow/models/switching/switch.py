"""A door to models behind which one can be exchanged for another, for as long as a process lives."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from pathlib import Path

from agentflow.config.agent_config import Interface
from agentflow.config.interfaces import called
from agentflow.errors import InvalidInput
from agentflow.models.open import open_model
from agentflow.models.protocol import Delta, Loading, Model, ModelRequest, reads_of
from agentflow.models.scripted_model import PREFIX


class ModelSwitch:
    """Opens models as usual until another is chosen: `Runtime.open(open_model=ModelSwitch())`."""

    def __init__(self) -> None:
        self._instead: dict[str, str] = {}

    def use(self, model: str, instead: str) -> None:
        """From the next call on `instead` is called wherever an agent's file says `model`; itself, for as it says.

        Another provider gets no address, key or parameter of the first one's: its key comes from the environment.
        Raises `InvalidInput` for a script, which only an agent's file can name.
        """
        if instead != model and (instead.startswith(PREFIX) or not instead.strip() or "://" in instead):
            raise InvalidInput(
                f"model: {instead!r} is no model of a provider, such as anthropic/claude-sonnet-4-5.",
                detail={"field": "model"},
            )
        self._instead[model] = instead

    def __call__(self, interface: Interface, folder: Path) -> Model:
        return _Exchangeable(interface, folder, self._instead)


class _Exchangeable:
    """Each model it stands for is opened once, when it is first called."""

    def __init__(self, interface: Interface, folder: Path, instead: Mapping[str, str]) -> None:
        self._interface = interface
        self._folder = folder
        self._instead = instead
        self._opened: dict[str, Model] = {}
        _ = self._model  # what the file names is checked when the agent is loaded

    @property
    def _model(self) -> Model:
        name = self._instead.get(self._interface.model, self._interface.model)
        if name not in self._opened:
            self._opened[name] = open_model(called(self._interface, name), self._folder, f"switch\n{id(self._instead)}")
        return self._opened[name]

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def scripted(self) -> bool:
        return self._model.scripted

    @property
    def own_timeout_secs(self) -> float | None:
        return self._interface.timeout_secs

    @property
    def reads(self) -> frozenset[str] | None:
        return reads_of(self._model)

    def is_loaded(self) -> bool:
        model = self._model
        return not isinstance(model, Loading) or model.is_loaded()

    async def load(self) -> None:
        model = self._model
        if isinstance(model, Loading):
            await model.load()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta, None]:
        async with aclosing(self._model.stream(request)) as deltas:
            async for delta in deltas:
                yield delta

    async def close(self) -> None:
        for model in self._opened.values():
            await model.close()
