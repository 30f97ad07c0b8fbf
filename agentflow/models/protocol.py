"""The one door to a language model: a request goes in, deltas come out."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from agentflow.message import Purpose, Usage


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One model call as it goes out.

    `messages` are chat-completion dicts, system prompt first, built and checked by `conversation.history` (T7):
    `{"role", "content"}`, on assistant messages `"tool_calls": [{"id", "type": "function", "function": {"name",
    "arguments"}}]` and what the same provider gave with them (`"thinking_blocks"`, `"reasoning_content"`), on
    results `"tool_call_id"` and `"name"`. `tools` are `{"type": "function", "function": {"name", "description",
    "parameters"}}`. `chars` is the length of all of it (X5). `session_id` and `turn` (the turn's number in its
    session) only steer a scripted model.
    """

    call_id: str
    purpose: Purpose
    messages: Sequence[dict[str, Any]]
    tools: Sequence[dict[str, Any]] = field(default_factory=tuple)
    chars: int = 0
    session_id: str = ""
    turn: int = 0


@dataclass(frozen=True, slots=True)
class TextDelta:
    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    text: str


@dataclass(frozen=True, slots=True)
class ToolFragment:
    """A piece of a tool call; the first one carries id and name, or the provider left them out."""

    index: int | None
    id: str | None
    name: str | None
    arguments: str


@dataclass(frozen=True, slots=True)
class UsageReport:
    """Tokens so far; cumulative, the last one wins (X6)."""

    usage: Usage


@dataclass(frozen=True, slots=True)
class ProviderData:
    """What only this provider understands and must get back in the same turn (T15), merged key by key."""

    data: dict[str, Any]


@dataclass(frozen=True, slots=True)
class FinishReason:
    """The provider said why it stopped: `stop`, `tool_calls`, `length`, `refusal`, `content_filter`.

    `word` is the provider's own, where it is known.
    """

    reason: str
    word: str | None = None


Delta = TextDelta | ReasoningDelta | ToolFragment | UsageReport | ProviderData | FinishReason


class Model(Protocol):
    """A model that can be called.

    `name` is the model string; provider data is replayed only to the model of the same name. `scripted` is true
    when nobody thinks: whoever shows an answer says so.
    """

    @property
    def name(self) -> str: ...

    @property
    def scripted(self) -> bool: ...

    def stream(self, request: ModelRequest) -> AsyncGenerator[Delta, None]:
        """One attempt, streamed.

        Contract: raises nothing but `ModelError` and cancellation; never retries; a stream that ends without
        `FinishReason` was cut. Closing the generator or cancelling its task closes the connection at once.
        """
        ...

    async def close(self) -> None:
        """Let go of what is kept open between calls; the model may be called again."""
        ...


def parameters_of(model: Model) -> Mapping[str, Any]:
    """What the model sends beside messages and tools, as JSON without secrets: its `parameters`, if it has some."""
    parameters: Mapping[str, Any] = getattr(model, "parameters", {})
    return parameters


def reads_of(model: Model) -> frozenset[str] | None:
    """What the model reads besides text, of image, pdf and audio; null when nothing is known against any (W4)."""
    reads: frozenset[str] | None = getattr(model, "reads", None)
    return reads


@runtime_checkable
class Loading(Protocol):
    """What a model that must be loaded first has as well: its own time is counted from when it is ready."""

    def is_loaded(self) -> bool: ...

    async def load(self) -> None:
        """Contract: raises nothing but `ModelError` and cancellation."""
        ...
