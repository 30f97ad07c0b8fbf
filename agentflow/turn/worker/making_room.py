"""Making room with a worker: `context.limit`, the summary as a decision, and `context.replace` (X12-X15, X18, X19)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agentflow.conversation import wire
from agentflow.conversation.history import UnpairedHistory, exchanges
from agentflow.errors import InvalidInput, WorkerFailed
from agentflow.message import Message
from agentflow.store.records import PathEntry
from agentflow.turn.loop.making_room import Held, Room, Written
from agentflow.turn.loop.replace_history import Replacement, keep_history, replace_history
from agentflow.turn.rules.decisions import CallModel, Fail, Finish
from agentflow.turn.run import tool_calls
from agentflow.turn.run.execution import Execution
from agentflow.turn.run.step import Step
from agentflow.turn.worker.decision_points import DecisionPoints
from agentflow.turn.worker.protocol import Action, Response

REPLACE = "context.replace"
_DECLINED = "declined"

Decide = Callable[[Action], CallModel | Finish | Fail | None]


class TurnDecided(Exception):
    """The worker ended the turn while a call was held."""

    def __init__(self, decision: Finish | Fail) -> None:
        super().__init__(decision)
        self.decision = decision


class PathMoved(Exception):
    """The worker left the path in the middle of a reply's calls."""

    def __init__(self, call_id: str, response: Response) -> None:
        super().__init__(call_id)
        self.call_id = call_id
        self.response = response


class WorkerRoom(Room):
    """Proposes what `Room` would do, and does what the worker says; `decide` reads its other actions."""

    def __init__(self, step: Step, execution: Execution, points: DecisionPoints, decide: Decide) -> None:
        super().__init__(step, execution)
        self._points = points
        self._decide = decide

    async def _settle(self, held: Held) -> None:
        if held.call_id is None:  # `settings`, before there is a call to hold
            await super()._settle(held)
            return
        actions = await self._asked(_limit(held, self._execution), self._proposed(held))
        if actions is None or any(action.get("purpose") == "summary" for action in actions):
            await super()._settle(held)
        else:
            await self._do(held, actions)

    async def _conclude(self, held: Held, written: Written) -> None:
        if held.call_id is None or written.call_id is None:
            await super()._conclude(held, written)
            return
        trigger = {
            "type": "llm.finished", "id": written.call_id, "purpose": "summary",
            "message": {"role": "assistant", "content": written.text}, "usage": written.usage.as_dict(),
            "truncated": written.kept == "unfinished", "ok": written.kept is None, "error": written.kept,
        }  # fmt: skip
        proposed = [] if written.kept else [_replacing(held, written.text)]
        actions = await self._asked(trigger, [*proposed, {"type": "llm.call", "id": held.call_id}])
        if actions is None:
            await super()._conclude(held, written)
        else:
            await self._do(held, actions)

    async def _asked(self, trigger: Mapping[str, Any], proposed: list[Action]) -> Sequence[Action] | None:
        """The worker's actions, null when it took the proposal."""
        view = await self._points.view()
        with self._step.interrupt.window():
            response = await self._points.ask(trigger, view, proposed)
        return None if response.took else response.actions

    def _proposed(self, held: Held) -> list[Action]:
        call = {"type": "llm.call", "id": held.call_id}
        if held.cut is None:
            return [call]
        if held.plan.use == "reset":
            return [_replacing(held, None), call]
        strategy = held.plan.strategy
        own = {} if strategy is None else {"prompt": strategy.prompt, "llm": strategy.llm, "model": strategy.model}
        given = {name: value for name, value in own.items() if value is not None}
        return [{"type": "llm.call", "purpose": "summary", "stream": False, **given}]

    async def _do(self, held: Held, actions: Sequence[Action]) -> None:
        replaced, decision = False, None
        for action in actions:
            if action["type"] == REPLACE:
                await replace_by_worker(self._step, self._execution, action, held.call_id)
                replaced = True
            elif action["type"] == "llm.call" and action.get("id") not in (None, held.call_id):
                raise WorkerFailed(f"The worker's llm.call names {action['id']!r}; {held.call_id!r} is held.")
            else:
                decision = decision or self._decide(action)
        if not replaced:
            keep_history(self._execution, _DECLINED)
        if not isinstance(decision, CallModel):
            raise TurnDecided(decision or Finish())


def _limit(held: Held, execution: Execution) -> dict[str, Any]:
    plan, request = held.plan, execution.request(with_tools=True)
    trigger = {
        "type": "context.limit",
        "reason": plan.reason,
        "strategy": None if plan.strategy is None else plan.strategy.use,
        "tokens": plan.tokens,
        "window": plan.window,
        "call": {"id": held.call_id, "llm": "main", "request": {"messages": request.messages}, "stream": True},
    }
    return {name: value for name, value in trigger.items() if value is not None}


def _replacing(held: Held, summary: str | None) -> Action:
    """The replace that a held call's plan comes to."""
    kept = () if held.cut is None else held.cut.kept
    action: Action = {"type": REPLACE, "messages": [message.as_dict() for message in kept]}
    return action if summary is None else {**action, "summary": summary}


async def replace_by_worker(step: Step, execution: Execution, action: Action, held: str | None) -> None:
    """Perform a worker's `context.replace`: recorded messages are copied, others are new, calls that are left behind
    are voided (X18, X19). Raises `WorkerFailed` for messages that split an exchange.
    """
    await execution.commit()
    summary = action.get("summary")
    given = await _entries(step, execution, action.get("messages") or [])
    tool_calls.void_all(execution)
    first = next((index for index, each in enumerate(given) if _is_of_turn(each, execution)), len(given))
    lean = step.reads_lean(execution.agent.config.settings)
    new = Replacement(summary or None, given[:first], given[first:], lean)
    if execution.carry_over is not None:
        execution.carry_over()
    replace_history(execution, new, held, step.new_id, with_tools=True)
    await execution.commit()


async def _entries(step: Step, execution: Execution, given: Any) -> list[PathEntry | Message]:
    try:
        messages = wire.messages_of(given, "context.replace.messages")
    except InvalidInput as refused:
        raise WorkerFailed(f"The worker's context.replace cannot be used: {refused.message}") from None
    ids = [message.id for message in messages if message.id]
    recorded = {entry.message.id: entry for entry in await step.store.entries(execution.journal.session_key, ids)}
    for index, message in enumerate(messages):
        if message.id not in recorded:
            _refuse_engine_fields(message, index)
    entries = [recorded.get(message.id) or _named(message, step) for message in messages]
    try:
        still_open = [call for exchange in exchanges(map(_message, entries)) for call in exchange.open]
    except UnpairedHistory as error:
        raise WorkerFailed(f"The worker's context.replace splits an exchange: {error}") from None
    if still_open:
        raise WorkerFailed(f"The worker's context.replace splits an exchange: call {still_open[0]!r} has no result.")
    return entries


def _refuse_engine_fields(message: Message, index: int) -> None:
    try:
        wire.refuse_engine_fields(message, f"context.replace.messages[{index}]")
    except InvalidInput as refused:
        raise WorkerFailed(f"The worker's context.replace cannot be used: {refused.message}") from None


def _named(message: Message, step: Step) -> Message:
    if message.id:
        return message
    return Message(step.new_id(), message.role, message.content, message.tool_calls, message.tool_call_id, message.name)


def _message(given: PathEntry | Message) -> Message:
    return given.message if isinstance(given, PathEntry) else given


def _is_of_turn(given: PathEntry | Message, execution: Execution) -> bool:
    return not isinstance(given, PathEntry) or given.turn == execution.journal.turn
