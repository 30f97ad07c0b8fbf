"""What the engine proposes: pure functions from what has just happened to a decision (C32, T8).

Nothing here performs anything; `loop` does what was decided and comes back with the outcome.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from agentflow.config.agent_config import Settings
from agentflow.conversation.pauses.awaited import QUESTIONS, TOOLS, Awaited, AwaitedCall
from agentflow.conversation.questions import Question
from agentflow.conversation.repair import ASK_USER
from agentflow.errors import LimitReached, ModelError
from agentflow.message import Message, ToolCall, text_of
from agentflow.tools.flows.reserved import DELEGATE
from agentflow.tools.results import ToolResult
from agentflow.turn.decide.actions import CallTool, Done, Fail, GiveError
from agentflow.turn.decide.decision import Decision
from agentflow.turn.rules.limits import Spent


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


Ended = Pause | AskLimit | Done | Fail
"""What a run of an agent comes to."""

CUT_AT_LIMIT = (
    "Not run: the reply was cut at the output limit before its tool calls were complete. "
    "Ask again with shorter arguments or fewer calls."
)


def after_reply(
    message: Message | None,
    finish_reason: str,
    *,
    enders: Collection[str],
    settings: Settings,
    spent: Spent,
    limit: str | None,
) -> Decision:
    """What a complete reply leads to (T8, T12). `limit` names the limit that made this the last call."""
    calls = () if message is None else message.tool_calls
    if not calls:
        if finish_reason == "content_filter" and message is None:
            withheld = ModelError("content_filter", "The provider withheld the reply because of its content filter.")
            return Decision(then=Fail(withheld))
        return Decision(record=message, then=Done(limit=limit))
    if limit is not None:
        plan = RunTools(refused=tuple((call, f"Not run: {limit} is reached.") for call in calls))
    elif finish_reason == "length":
        plan = RunTools(refused=tuple((call, CUT_AT_LIMIT) for call in calls))
    else:
        plan = partition(calls, enders, settings, spent)
    run = [*plan.ordinary, *(call for call in (plan.ender, plan.ask) if call is not None)]
    return Decision(
        record=message,
        given=tuple(GiveError(call.id, why, "refused") for call, why in plan.refused),
        calls=tuple(CallTool(call.id) for call in run),
    )


def within(reply: Message, allowed: int) -> Message:
    """A reply with the first `allowed` of its calls and a sentence that says how many were left out (T14); 0 = all."""
    left_out = len(reply.tool_calls) - allowed
    if not allowed or left_out <= 0:
        return reply
    told = f"[{left_out} more tool calls of this reply were left out: at most {allowed} are made in one.]"
    text = text_of(reply.content)
    return replace(reply, content=f"{text}\n{told}" if text.strip() else told, tool_calls=reply.tool_calls[:allowed])


def partition(calls: Sequence[ToolCall], enders: Collection[str], settings: Settings, spent: Spent) -> RunTools:
    """Which of the calls run, and how; within the limits, and one of those that end the step (T8)."""
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


def limit_reached(name: str, allowed: object) -> LimitReached:
    """The error of a turn that ended because a limit was reached (T39)."""
    return LimitReached(
        f"The turn reached {name} ({allowed}). Raise it under settings, or ask for less at once.",
        detail={"limit": name, "allowed": allowed},
    )
