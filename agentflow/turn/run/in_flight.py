"""What an execution has begun and not ended: a model call, and tool calls (T24)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agentflow.conversation.repair import OpenCall
from agentflow.errors import ModelError
from agentflow.models.assembly import Assembler


@dataclass(slots=True)
class OpenStream:
    """A model call in flight. What it has said so far is `assembler.text`; its deltas say `told` too.

    `model` is the name of whom is asked, `prompt` the system prompt of the request. What is not `streamed` is shown
    to nobody until the reply is there. `passed_over` are models that were not asked, each with the reason (W5).
    `sent` is what the exact request is made again from, once it is known.
    """

    call_id: str
    purpose: str
    model: str
    prompt: str
    request_chars: int
    started: float
    with_tools: bool
    streamed: bool = True
    told: Mapping[str, Any] = field(default_factory=dict)
    sent: Mapping[str, Any] | None = None
    passed_over: Sequence[Sequence[str]] = ()
    attempts: int = 0
    first_token_ms: int | None = None
    assembler: Assembler = field(default_factory=Assembler)

    def milliseconds(self) -> int:
        return milliseconds_since(self.started)

    @property
    def shown(self) -> str:
        """The text that somebody has seen."""
        return self.assembler.text if self.streamed else ""

    @property
    def has_shown(self) -> bool:
        """Whether text or reasoning was seen, so that the call cannot be made again as if nothing had been."""
        return self.streamed and bool(self.assembler.text or self.assembler.reasoning)


class InFlight:
    """The open calls of one execution that began at `started`.

    `waiting` is the model call that is recorded as requested and has not gone out yet, of the model named
    `waiting_model`; `stream` is the one that has.
    `calls` are the tool calls without a result, by id. `first_token_ms` is that of the execution's first reply.
    """

    def __init__(self, started: float) -> None:
        self.started = started
        self.waiting: str | None = None
        self.waiting_model = ""
        self.stream: OpenStream | None = None
        self.calls: dict[str, OpenCall] = {}
        self.first_token_ms: int | None = None

    def wait(self, call_id: str | None, model: str = "") -> None:
        self.waiting, self.waiting_model = call_id, model

    def go_out(self, stream: OpenStream) -> None:
        self.stream, self.waiting = stream, None

    def take_back(self, error: ModelError) -> bool:
        """A call that was refused as too long, before it showed anything, may run once more (X16): its stream closes,
        its row stays. False for any other failure.
        """
        stream = self.stream
        if stream is None or stream.has_shown or error.kind != "context_overflow":
            return False
        self.stream, self.waiting, self.waiting_model = None, stream.call_id, stream.model
        return True

    @property
    def streaming(self) -> OpenStream:
        """The model call that has gone out."""
        if self.stream is None:
            raise RuntimeError("no model call is open")
        return self.stream

    def close_stream(self) -> OpenStream:
        stream, self.stream = self.streaming, None
        if self.first_token_ms is None and stream.first_token_ms is not None:
            self.first_token_ms = int((stream.started - self.started) * 1000) + stream.first_token_ms
        return stream

    def open_call(self, call: OpenCall) -> None:
        self.calls[call.id] = call

    def close_call(self, call_id: str) -> OpenCall:
        return self.calls.pop(call_id)


def milliseconds_since(started: float) -> int:
    """Whole milliseconds of the loop's clock, never negative (T38)."""
    return max(int((asyncio.get_running_loop().time() - started) * 1000), 0)
