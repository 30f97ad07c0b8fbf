"""What a turn does next: pure functions from what has just happened to a proposal (C32, T8).

Nothing here performs anything; `runner` does what a proposal says and comes back with the outcome.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from agentflow.config.agent_config import Settings
from agentflow.conversation.pauses.awaited import QUESTIONS, TOOLS, Awaited, AwaitedCall
from agentflow.conversation.questions import Question
from agentflow.conversation.repair import ASK_USER
from agentflow.errors import AgentflowError, LimitReached, ModelError
from agentflow.message import ToolCall, Usage
from agentflow.tools.flows.reserved import DELEGATE
from agentflow.tools.results import ToolResult
from agentflow.turn.rules.limits import Spent, reached


@dataclass(frozen=True, slots=True)
class CallModel:
    """Call the model; `limit` names what was reached when this is the last call, without tools (T39)."""

    limit: str | None = None


@dataclass(frozen=True, slots=True)
class RunTools:
    """Run the ordinary calls side by side, then the one that ends the turn; the refused get these error results.

    The `settled` have their results already. `ask` is not run: once all others have their results the turn pauses
    for its answer (T18).
    """

    ordinary: tuple[ToolCall, ...] = ()
    ender: ToolCall | None = None
    ask: ToolCall | None = None
    refused: tuple[tuple[ToolCall, str], ...] = ()
    settled: tuple[tuple[ToolCall, ToolResult], ...] = ()


@dataclass(frozen=True, slots=True)
class Finish:
    """The turn is done; the answer is the text just recorded. `limit` names what ended it early."""

    limit: str | None = None


@dataclass(frozen=True, slots=True)
class Pause:
    """The turn waits for what the calls of the run of number `execution` that are left open wait for: the answer to the
    questions of one, or the results of the client's `calls`, of which `call_id` is the first (T18, C38).
    """

    call_id: str
    questions: tuple[Question, ...]
    execution: int
    calls: tuple[AwaitedCall, ...] = ()

    @property
    def awaited(self) -> Awaited:
        return Awaited(TOOLS if self.calls else QUESTIONS, self.call_id, self.questions, self.calls)


@dataclass(frozen=True, slots=True)
class AskLimit:
    """A limit is reached and the user decides whether the turn goes on (T39)."""

    limit: str


@dataclass(frozen=True, slots=True)
class Fail:
    """The turn failed."""

    error: AgentflowError
    limit: str | None = None


NextMove = RunTools | CallModel | Finish | Fail
"""What a reply leads to; a model call only when a worker wants one."""

CUT_AT_LIMIT = (
    "Not run: the reply was cut at the output limit before its tool calls were complete. "
    "Ask again with shorter arguments or fewer calls."
)


def after_reply(
    calls: Sequence[ToolCall],
    finish_reason: str,
    text: str,
    *,
    enders: Collection[str],
    settings: Settings,
    spent: Spent,
    limit: str | None,
) -> RunTools | Finish | Fail:
    """What a complete reply leads to (T8, T12). `limit` names the limit that made this the last call."""
    if not calls:
        if finish_reason == "content_filter" and not text.strip():
            return Fail(ModelError("content_filter", "The provider withheld the reply because of its content filter."))
        return Finish(limit)
    if limit is not None:
        return RunTools(refused=tuple((call, f"Not run: {limit} is reached.") for call in calls))
    if finish_reason == "length":
        return RunTools(refused=tuple((call, CUT_AT_LIMIT) for call in calls))
    return _partition(calls, enders, settings, spent)


def _partition(calls: Sequence[ToolCall], enders: Collection[str], settings: Settings, spent: Spent) -> RunTools:
    ordinary: list[ToolCall] = []
    refused: list[tuple[ToolCall, str]] = []
    ender = _winner(calls, enders)
    for position, call in enumerate(calls):
        if settings.max_tool_calls_per_reply and position >= settings.max_tool_calls_per_reply:
            refused.append((call, f"Not run: at most {settings.max_tool_calls_per_reply} calls in one reply."))
        elif settings.max_tool_calls and spent.tool_calls + position >= settings.max_tool_calls:
            refused.append((call, f"Not run: max_tool_calls ({settings.max_tool_calls}) is reached."))
        elif call.name != ASK_USER and call.name not in enders:
            ordinary.append(call)
        elif call is not ender and ender is not None:
            refused.append((call, f"Not run: {ender.name} ends this step, and only one call of a reply can."))
    if ender is not None and any(call is ender for call, _ in refused):
        ender = None
    asks = ender is not None and ender.name == ASK_USER
    return RunTools(tuple(ordinary), None if asks else ender, ender if asks else None, tuple(refused))


def _winner(calls: Sequence[ToolCall], enders: Collection[str]) -> ToolCall | None:
    """Of the calls that end a step, the one that may: `ask_user`, then `delegate`, then `ends_turn` (T8)."""
    ending = [call for call in calls if call.name == ASK_USER or call.name in enders]
    first = [*(call for name in (ASK_USER, DELEGATE) for call in ending if call.name == name), *ending]
    return first[0] if first else None


def after_results(
    *, asked: Pause | None, ended: bool, settings: Settings, spent: Spent, usage: Usage, limit: str | None
) -> CallModel | Pause | AskLimit | Finish | Fail:
    """What follows once every call of a reply has its result.

    `asked`: a question of the reply waits for the user; `ended`: one of the results was the turn's answer.
    """
    if asked is not None:
        return asked
    if ended or limit is not None:
        return Finish(limit)
    name = reached(settings, spent, usage)
    if name is None:
        return CallModel()
    if settings.on_limit == "answer":
        return CallModel(limit=name)
    if settings.on_limit == "ask":
        return AskLimit(name)
    return Fail(limit_reached(name, getattr(settings, name)), limit=name)


def limit_reached(name: str, allowed: object) -> LimitReached:
    """The error of a turn that ended because a limit was reached (T39)."""
    return LimitReached(
        f"The turn reached {name} ({allowed}). Raise it under settings, or ask for less at once.",
        detail={"limit": name, "allowed": allowed},
    )
