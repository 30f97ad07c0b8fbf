"""What a flow is given besides its arguments."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from inspect import isawaitable
from typing import Any, NewType

from agentflow.media.files import shown_name
from agentflow.tools.flows.memory import Memory

Loader = Callable[..., Any] | str
"""What loads an entity's data: a function, sync or async, or the name of a flow; it is called with the key."""

FlowName = NewType("FlowName", str)
"""The type of a flow's parameter that names another flow: `validate` finds a name that is none in a hook's `with:`."""

MAX_ATTACHED = 20

_LOGGER = logging.getLogger("agentflow.flow")


class CallCancelled(BaseException):
    """Unwinds a flow whose result nobody waits for; not an `Exception`, so that no flow eats it by accident."""


def _emit_nowhere(name: str, data: Mapping[str, Any]) -> None:
    """Where a context without a running turn sends its events."""


def _never() -> bool:
    return False


def _load_directly(context: FlowContext, entity: str, key: str | int, loader: Loader) -> Any:
    """What a context without a running turn loads; in an async flow it is awaited there too."""
    if isinstance(loader, str):
        raise ValueError(f"outside a turn nobody finds the flow {loader!r}; give the function itself")
    loaded = loader(key)
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(_awaited(loaded)) if isawaitable(loaded) else loaded
    return _awaited(loaded)


async def _awaited(value: Any) -> Any:
    return await value if isawaitable(value) else value


class Attachments:
    """The files that one call gives along with its result: bytes, the type they are said to have, and a name."""

    def __init__(self) -> None:
        self.given: list[tuple[bytes, str, str]] = []

    def add(self, data: bytes, media_type: str, name: str) -> None:
        if not isinstance(data, bytes | bytearray | memoryview):
            raise TypeError(f"attach takes the bytes of a file, not {type(data).__name__}")
        if len(self.given) >= MAX_ATTACHED:
            raise ValueError(f"a call may attach {MAX_ATTACHED} files")
        self.given.append((bytes(data), media_type, shown_name(name)))


@dataclass(frozen=True)
class FlowContext:
    """The parameter annotated `FlowContext`: who called, with what, and how to speak up or give up (A6).

    Every field has a default, so a test makes one with `FlowContext(inputs={...})`. The mappings are read-only
    views: `inputs` are the request's validated inputs, `vars` the prompt's variables, `client` what the request
    carried (`state`, `context`, `forwarded_props`). `emit(name, data)` streams an event to the client; it and
    `cancelled()` may be called from any thread. `hook` is what a hook is called about (T36), empty for a tool.
    `execution` is the number of the sub-agent's run that asks, 0 for the agent of the session. `environment` is
    `production`, `studio` or `evaluation`: a hook that acts in the world looks there first. `memory` has the
    session's notes: `ctx.memory.save(topic, content)`, which an async flow awaits; `load` is how `get_with_snap` loads,
    `attached` what `attach` was given.
    """

    session_id: str = ""
    turn_id: str = ""
    agent_id: str = ""
    call_id: str = ""
    inputs: Mapping[str, Any] = field(default_factory=dict)
    vars: Mapping[str, Any] = field(default_factory=dict)
    client: Mapping[str, Any] = field(default_factory=dict)
    logger: logging.Logger = _LOGGER
    emit: Callable[[str, Mapping[str, Any]], None] = _emit_nowhere
    cancelled: Callable[[], bool] = _never
    hook: Mapping[str, Any] = field(default_factory=dict)
    execution: int = 0
    environment: str = "production"
    memory: Memory = field(default_factory=Memory)
    load: Callable[[FlowContext, str, str | int, Loader], Any] = _load_directly
    attached: Attachments = field(default_factory=Attachments)

    def __post_init__(self) -> None:
        object.__setattr__(self, "memory", self.memory.called_by(self.cancelled))

    def get_with_snap(self, entity: str, key: str | int, loader: Loader) -> Any:
        """The data of an entity, such as `("customer", "42")`, as `loader` loads it; kept where the session is
        snapshotted, so that the conversation can run again on the same data (R8).

        In a sync flow it is returned, in an async one it is awaited: `await ctx.get_with_snap(...)`. `loader` is a
        function or the name of a flow, either sync or async; it is called with the key, and with this context when it
        has a parameter for it. What it raises is raised. In the environment `evaluation` nothing is loaded: the data
        of the case is returned, or `SnapshotNotFound` is raised.
        """
        return self.load(self, entity, key, loader)

    def attach(self, data: bytes, media_type: str = "", *, name: str = "") -> None:
        """Give a picture, a sound or a document along with the result: the model reads it after the result (W4).

        What it is, is read from the bytes; `media_type` counts among kinds of text alone. What no model takes is a note
        in the result, which says why. May be called from any thread, until the flow has returned. Raises `TypeError`
        for what are no bytes, `ValueError` for more than 20 files of one call.
        """
        self.attached.add(data, media_type, name)

    @property
    def idempotency_key(self) -> str:
        """The same text whenever this very call is meant, and no other: for services that refuse doubles."""
        run = f"{self.execution}/" if self.execution else ""  # call ids are told apart inside one run only
        return f"{self.session_id}/{self.turn_id}/{run}{self.call_id}"

    def check_cancelled(self) -> None:
        """Raise `CallCancelled` when the call was stopped or ran out of time; for loops in sync flows (T23)."""
        if self.cancelled():
            raise CallCancelled(f"call {self.call_id} was stopped")
