"""What a conversation is made of: messages, tool calls, usage, and the states of a turn. All frozen."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from typing import Any, Literal

from agentflow.media.files import File

Role = Literal["system", "user", "assistant", "tool"]
Content = str | list[dict[str, Any]] | None  # text, or provider-neutral parts ({"type": "text", ...} and others)
Purpose = Literal["main", "planner", "summary", "title", "judge"]
WrittenAs = Literal["summary", "kept"]
"""What a `context.replace` wrote a message as: the summary of what it left out, or one of those it keeps (X18)."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call a reply asked for. `arguments` is the raw text the model sent; what is replayed is valid JSON (T13)."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Message:
    """A node's content (C1).

    `error` marks a client's result of a tool that it performs as an error; it is kept with the call (C39).
    `provider` is what only the provider that wrote the message understands (reasoning, signatures), as
    `{"model": <interface's model>, ...}`; it is replayed to that model in the same turn and never shown (T15).
    `hidden` marks a message the transcript leaves out (a continuation), `summary` one that stands for the older
    conversation (X18), `copied_from` names the original of a copy that a client sends back. All three are the
    engine's own: what a client says of them is ignored on a recorded message and refused on a new one (Z6).
    `files` are the bytes that came with the message for the references in its content, until they are recorded (W4).
    """

    id: str
    role: Role
    content: Content = None
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    name: str | None = None
    provider: dict[str, Any] | None = None
    hidden: bool = False
    summary: bool = False
    copied_from: str | None = None
    error: bool = False
    files: tuple[File, ...] = field(default=(), compare=False, repr=False)

    def as_dict(self) -> dict[str, Any]:
        """The wire shape of C1: absent fields are left out."""
        shape: dict[str, Any] = {"id": self.id, "role": self.role, "content": self.content}
        if self.tool_calls:
            shape["tool_calls"] = [
                {"id": call.id, "name": call.name, "arguments": call.arguments} for call in self.tool_calls
            ]
        if self.tool_call_id is not None:
            shape["tool_call_id"] = self.tool_call_id
        if self.name is not None:
            shape["name"] = self.name
        if self.hidden:
            shape["hidden"] = True
        if self.summary:
            shape["summary"] = True
        if self.copied_from is not None:
            shape["copied_from"] = self.copied_from
        if self.error:
            shape["error"] = True
        return shape


def text_of(content: Content) -> str:
    """The text of a content: the string itself, or its text parts joined by newlines; other parts have none."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content if part.get("type") == "text" and part.get("text"))


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of a model call or a sum (X6); `cache_read` and `cache_write` are parts of `input`, null = unknown."""

    input: int | None = None
    output: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    cost: Decimal | None = None

    @property
    def total(self) -> int | None:
        """`input + output`, null when neither is known."""
        if self.input is None and self.output is None:
            return None
        return (self.input or 0) + (self.output or 0)

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            _sum(self.input, other.input),
            _sum(self.output, other.output),
            _sum(self.cache_read, other.cache_read),
            _sum(self.cache_write, other.cache_write),
            self.cost if other.cost is None else other.cost if self.cost is None else self.cost + other.cost,
        )

    def as_dict(self) -> dict[str, int | None]:
        """`{input, output, cache_read, cache_write, total}`; cost is reported beside it."""
        return {
            "input": self.input,
            "output": self.output,
            "cache_read": self.cache_read,
            "cache_write": self.cache_write,
            "total": self.total,
        }


def _sum(a: int | None, b: int | None) -> int | None:
    return b if a is None else a if b is None else a + b


class TurnState(StrEnum):
    """Where a turn stands; `turn_table.py` holds the table of legal moves (T1)."""

    IDLE = "idle"  # accepted or queued, not begun
    RUNNING = "running"
    PAUSED_ASK_USER = "paused_ask_user"
    DONE = "done"
    FAILED = "failed"
    ABORTED = "aborted"


ENDED = frozenset({TurnState.DONE, TurnState.FAILED, TurnState.ABORTED})


class ExecutionStatus(StrEnum):
    """One run of an agent or sub-agent inside a turn."""

    RUNNING = "RUNNING"
    DONE = "DONE"
    ERROR = "ERROR"
    PENDING_USER_INPUT = "PENDING_USER_INPUT"
    ABORTED = "ABORTED"


EXECUTION_OF: dict[TurnState, ExecutionStatus] = {
    TurnState.RUNNING: ExecutionStatus.RUNNING,
    TurnState.PAUSED_ASK_USER: ExecutionStatus.PENDING_USER_INPUT,
    TurnState.DONE: ExecutionStatus.DONE,
    TurnState.FAILED: ExecutionStatus.ERROR,
    TurnState.ABORTED: ExecutionStatus.ABORTED,
}
"""The word for a turn's main execution, where the turn stands like this."""


class ToolCallStatus(StrEnum):
    """How far a tool call got; nothing is ever executed again because of it (T30)."""

    PLANNED = "planned"  # recorded, not handed to its function yet
    STARTED = "started"  # handed to its function: it may have had its effect
    FINISHED = "finished"  # its own result is recorded
    CLOSED = "closed"  # a placeholder result is recorded instead
    VOIDED = "voided"  # its place left the path, the late result is ignored (C20)
