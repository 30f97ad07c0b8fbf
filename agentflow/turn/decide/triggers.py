"""What a decision is asked about, with what the worker is told of it (C32)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from agentflow.errors import AgentflowError
from agentflow.message import Message, ToolCall, Usage
from agentflow.turn.decide.table import Point


@dataclass(frozen=True, slots=True)
class SessionStart:
    """A session has begun; asked until it has been answered once."""

    point: ClassVar[Point] = Point.SESSION_START

    def told(self) -> dict[str, Any]:
        return {"type": "session.start"}


@dataclass(frozen=True, slots=True)
class MessagesDelivered:
    """The input of a turn, or of a sub-agent's run; null `messages`: the path."""

    point: ClassVar[Point] = Point.CLIENT_MESSAGES

    messages: Sequence[Message] | None
    new_from: int
    client: Mapping[str, Any]

    def told(self) -> dict[str, Any]:
        return {
            "type": "client.messages",
            "messages": [message.as_dict() for message in self.messages or ()],
            "new_from": self.new_from,
            "client": dict(self.client),
        }


@dataclass(frozen=True, slots=True)
class QuestionAnswered:
    """The user has answered; the result is recorded."""

    point: ClassVar[Point] = Point.ASK_USER_ANSWERED

    id: str
    answer: Any

    def told(self) -> dict[str, Any]:
        return {"type": "ask_user.answered", "id": self.id, "answer": self.answer}


@dataclass(frozen=True, slots=True)
class ReplyFinished:
    """A model call has ended, with a reply or with an error; of a summary: the call that is `held` for it."""

    id: str
    purpose: str
    message: Message | None
    usage: Usage | None
    truncated: bool = False
    error: AgentflowError | None = None
    held: str | None = None
    can_summarize: bool = False

    @property
    def point(self) -> Point:
        if self.purpose == "summary":
            return Point.SUMMARY_FINISHED
        return Point.LLM_FINISHED if self.error is None else Point.LLM_FAILED

    def told(self) -> dict[str, Any]:
        return {
            "type": "llm.finished",
            "id": self.id,
            "purpose": self.purpose,
            "message": None if self.message is None else self.message.as_dict(),
            "usage": None if self.usage is None else self.usage.as_dict(),
            "truncated": self.truncated,
            "ok": self.error is None,
            "error": None if self.error is None else {"code": self.error.code, "message": self.error.message},
        }


@dataclass(frozen=True, slots=True)
class ToolExecute:
    """A call of a tool that is left to the worker is open now."""

    point: ClassVar[Point] = Point.TOOL_EXECUTE

    call: ToolCall
    input: Mapping[str, Any]

    def told(self) -> dict[str, Any]:
        return {"type": "tool.execute", "id": self.call.id, "name": self.call.name, "input": dict(self.input)}


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """A call has its result."""

    point: ClassVar[Point] = Point.TOOL_FINISHED

    call: ToolCall
    ok: bool
    text: str

    def told(self) -> dict[str, Any]:
        said = {"result" if self.ok else "error": self.text}
        return {"type": "tool.finished", "id": self.call.id, "name": self.call.name, "ok": self.ok, **said}


@dataclass(frozen=True, slots=True)
class ContextLimit:
    """A model call is held because it would read too much, or was refused as too long (X12)."""

    point: ClassVar[Point] = Point.CONTEXT_LIMIT

    reason: str
    strategy: str | None
    tokens: int
    window: int | None
    held: str
    interface: str
    request: Sequence[Mapping[str, Any]]
    stream: bool
    can_summarize: bool

    def told(self) -> dict[str, Any]:
        call = {
            "id": self.held,
            "llm": self.interface,
            "request": {"messages": list(self.request)},
            "stream": self.stream,
        }
        told = {
            "type": "context.limit",
            "reason": self.reason,
            "strategy": self.strategy,
            "tokens": self.tokens,
            "window": self.window,
            "call": call,
        }
        return {name: value for name, value in told.items() if value is not None}


@dataclass(frozen=True, slots=True)
class TurnFinished:
    """The turn, or a sub-agent's run, is over if nothing else is wanted."""

    point: ClassVar[Point] = Point.TURN_FINISHED

    data: Any
    usage: Usage

    def told(self) -> dict[str, Any]:
        cost = None if self.usage.cost is None else str(self.usage.cost)
        return {"type": "turn.finished", "data": self.data, "cost": cost, "usage": self.usage.as_dict()}


Trigger = (
    SessionStart
    | MessagesDelivered
    | QuestionAnswered
    | ReplyFinished
    | ToolExecute
    | ToolFinished
    | ContextLimit
    | TurnFinished
)
