"""The actions that a decision is made of, each with every field it may have (C33).

The engine proposes them and a worker answers with them; `loop` performs both alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from agentflow.errors import AgentflowError
from agentflow.message import Message
from agentflow.text import compact_json
from agentflow.tools.results import ToolResult, refused, success

CallPurpose = Literal["main", "summary"]


@dataclass(frozen=True, slots=True)
class CallModel:
    """Call the model. What is not given comes from the configuration, or from the call that is held.

    `limit` is the engine's own: it names the limit that makes this the last call, without tools (T39).
    """

    id: str | None = None
    purpose: CallPurpose = "main"
    messages: tuple[dict[str, Any], ...] | None = None
    interface: str | None = None
    model: str | None = None
    prompt: str | None = None
    template: bool = False
    stream: bool | None = None
    limit: str | None = None


@dataclass(frozen=True, slots=True)
class CallTool:
    """Run a tool: a call of the reply by its `id`, or one of the decision's own. No `input`: what the reply said."""

    id: str | None = None
    name: str | None = None
    input: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class GiveResult:
    """A result for a call that is not run here."""

    id: str
    result: Any = None

    @property
    def outcome(self) -> ToolResult:
        return success(self.result)


@dataclass(frozen=True, slots=True)
class GiveError:
    """An error result for a call; `code` tells whoever reads the trace why."""

    id: str
    error: str
    code: str = "tool_failed"

    @property
    def outcome(self) -> ToolResult:
        return refused(self.error, self.code)


@dataclass(frozen=True, slots=True)
class AskUser:
    """Ask the user, which pauses the turn; `questions` are in the shape of `ask_user`'s input."""

    questions: tuple[dict[str, Any], ...]
    id: str | None = None

    @property
    def arguments(self) -> str:
        return compact_json({"questions": list(self.questions)})


@dataclass(frozen=True, slots=True)
class ReplaceContext:
    """Go on with another history: a new branch at the root, the summary first (X18)."""

    summary: str | None = None
    messages: tuple[Message, ...] = ()


@dataclass(frozen=True, slots=True)
class Done:
    """The turn is done; `data` goes into its result, and `limit` names what ended it early."""

    data: Any = None
    limit: str | None = None


@dataclass(frozen=True, slots=True)
class Fail:
    """The turn fails with this error; `limit` names the limit that was reached."""

    error: AgentflowError
    limit: str | None = None


Given = GiveResult | GiveError
Call = CallTool | AskUser
Following = CallModel | Done | Fail
Action = ReplaceContext | Given | Call | Following
