"""The ways a step ends, staged on its execution: an answer, a question, a failure, an interruption (T8, T18, T24)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from agentflow import clock, events
from agentflow.clock import SECOND, NewId
from agentflow.conversation.pauses.awaited import QUESTIONS, Awaited
from agentflow.conversation.repair import ABORTED_BY_USER, INTERRUPTED, close
from agentflow.errors import AgentflowError, ModelError
from agentflow.events import LogEntry
from agentflow.live.interrupt import StopReason
from agentflow.message import ExecutionStatus, Message, TurnState, text_of
from agentflow.store.requests import Close, Seen
from agentflow.store.rows import changes, inserts
from agentflow.text import compact_json
from agentflow.turn.decide.actions import Done
from agentflow.turn.rules.decisions import Pause
from agentflow.turn.run import model_calls, tool_calls
from agentflow.turn.run.draft_answer import replace_answer, staged_answer
from agentflow.turn.run.execution import Execution
from agentflow.turn_table import Trigger

_INTERRUPTIONS = {
    "stop": ("the user stopped the turn.", ABORTED_BY_USER),
    "closing": ("the process running this turn was shut down.", INTERRUPTED),
}


@dataclass(frozen=True, slots=True)
class Ending:
    """How a step ends. `answer` is what the user saw: the first characters of the text of message `answer_id`.

    `awaited` is what a pause waits for. With `close` the turn does not end by itself: the store closes what is open
    of it, and says what the answer is.
    """

    trigger: Trigger
    status: ExecutionStatus
    answer_id: str | None = None
    answer: str | None = None
    limit: str | None = None
    error: AgentflowError | None = None
    awaited: Awaited | None = None
    close: Close | None = None
    data: Any = None


def finish(execution: Execution, done: Done, before: Message | None) -> Ending:
    """The last message is the answer, or that of `before` where nothing was said; a silent reply leaves none (T12).

    What a worker ended a run with that the turn was handed to is the turn's too.
    """
    answer = execution.transcript.answer or before
    handed = [child.data for child in execution.children if child.heard and child.data is not None]
    data = handed[-1] if done.data is None and handed else done.data
    if answer is None:
        return Ending(Trigger.FINISH, ExecutionStatus.DONE, limit=done.limit, data=data)
    return replace(answered(answer, done.limit), data=data)


def answered(message: Message, limit: str | None = None) -> Ending:
    """The message is the answer; it may have been there before (C13)."""
    return Ending(Trigger.FINISH, ExecutionStatus.DONE, message.id, text_of(message.content) or None, limit)


def pause(execution: Execution, decision: Pause) -> Ending:
    """Store what is waited for at the place where the path stands now (T18, C38); a sub-agent pauses everything (T22).

    How long they are waited for is a matter of the agent that asks (T21).
    """
    journal, at, awaited = execution.journal, clock.instant(), decision.awaited
    asking = execution.find(decision.execution)
    expiry_secs = asking.agent.config.settings.ask_user_expiry_secs
    if execution.place is None:
        raise RuntimeError("a question needs a message that asks it")
    asking.staging.add(
        inserts.InsertQuestion(
            asking.number, awaited.call_id, journal.turn, "pending", compact_json(awaited.stored()), at,
            at + int(expiry_secs * SECOND) if expiry_secs else None, *execution.place, awaited.kind,
        )
    )  # fmt: skip
    asking.staging.tell(_pause_told(awaited, asking.number))
    while asking.parent is not None:
        asking.ended(ExecutionStatus.PENDING_USER_INPUT)
        asking = asking.parent
    return Ending(Trigger.ASK, ExecutionStatus.PENDING_USER_INPUT, awaited=awaited)


def _pause_told(awaited: Awaited, execution: int) -> LogEntry:
    if awaited.kind == QUESTIONS:
        return events.ask_user(awaited.call_id, awaited.stored(), execution)
    return events.client_tools(awaited.call_id, awaited.call_dicts(), execution)


def fail(execution: Execution, error: AgentflowError, limit: str | None, new_id: NewId) -> Ending:
    """What was shown stays as the answer (T12)."""
    seen, failure = _seen(execution, error, ExecutionStatus.ERROR, new_id), error.as_dict()
    how = Close(
        Trigger.FAIL, f"the turn failed ({error.code}).", failure, seen=seen, failure=failure, limit=limit,
        first_token_ms=execution.in_flight.first_token_ms,
    )  # fmt: skip
    return Ending(Trigger.FAIL, ExecutionStatus.ERROR, limit=limit, error=error, close=how)


def interrupt(execution: Execution, reason: StopReason, new_id: NewId) -> Ending:
    """A stop is no error and keeps its marker even without text (T24)."""
    why, marker = _INTERRUPTIONS[reason]
    error = AgentflowError(f"The call was given up: {why}")
    seen = _seen(execution, error, ExecutionStatus.ABORTED, new_id)
    if seen is not None and seen.is_recorded:
        replace_answer(execution, f"{seen.text}\n{marker}")
    always = reason == "stop" and (seen is None or not seen.is_recorded)
    how = Close(
        Trigger.STOP, why, error.as_dict(), marker, always, seen, first_token_ms=execution.in_flight.first_token_ms
    )
    return Ending(Trigger.STOP, ExecutionStatus.ABORTED, close=how)


def _seen(execution: Execution, error: AgentflowError, status: ExecutionStatus, new_id: NewId) -> Seen | None:
    """What the user has seen of the answer. Streams are ended with what they used, and runs below with their time:
    the store, which closes what is open, knows neither.
    """
    shown = _end_streams(execution, error, new_id)
    staged = staged_answer(execution)
    execution.ended(status)
    return shown if staged is None else Seen(staged.id, text_of(staged.content), is_recorded=True)


def _end_streams(execution: Execution, error: AgentflowError, new_id: NewId) -> Seen | None:
    stream, seen = execution.in_flight.stream, None
    if stream is not None:
        shown = model_calls.fail(execution, error, "errored" if isinstance(error, ModelError) else "aborted")
        seen = Seen(stream.call_id if execution.parent is None else new_id(), shown)
    for child in execution.children:
        if child.status is ExecutionStatus.RUNNING:
            below = _end_streams(child, error, new_id)
            seen = below if child.heard and below is not None else seen
            child.ended(ExecutionStatus.ABORTED)
    return seen


def close_child(child: Execution, reason: str, new_id: NewId) -> str | None:
    """Close what a sub-agent's failed run left open, its own sub-agents included; what it was saying just then.

    The turn goes on, so this is no commit: what is open is what this process has begun.
    """
    error, why, seen = AgentflowError(reason), f"the sub-agent failed: {reason}.", ""
    in_flight = child.in_flight
    stream = in_flight.stream
    if in_flight.waiting is not None:
        model_calls.give_up(child, in_flight.waiting, error)
    if stream is not None:
        seen = model_calls.fail(child, error, "aborted")
    for below in child.children:
        if below.status is ExecutionStatus.RUNNING:
            shown = close_child(below, reason, new_id)
            seen = shown if below.heard and shown is not None else seen
            below.ended(ExecutionStatus.ABORTED)
    closing = close(tuple(in_flight.calls.values()), seen, why, marker=None)
    tool_calls.close_all(child, closing, new_id)
    if closing.text is None:
        return None
    child.staging.record(Message(new_id() if stream is None else stream.call_id, "assistant", closing.text))
    return closing.text[: closing.answer_chars] or None


def stage(execution: Execution, ending: Ending, move: tuple[TurnState, TurnState]) -> None:
    """Stage the final rows and the terminal events of the step (T10); `done` is the last of them."""
    journal, at, (from_state, to_state) = execution.journal, clock.instant(), move
    usage, error = journal.usage, None if ending.error is None else ending.error.as_dict()
    paused = ending.trigger is Trigger.ASK
    execution.ended(ending.status)
    execution.staging.add(
        changes.EndStep(
            to_state, at, execution.in_flight.first_token_ms, ending.answer_id, len(ending.answer or ""), journal.step
        ),
        changes.EndTurn(
            to_state, None if paused else at, compact_json(error) if error else None, ending.limit, usage.input,
            usage.output, usage.cache_read, usage.cache_write, None if usage.cost is None else str(usage.cost),
            journal.turn, from_state,
        ),
    )  # fmt: skip
    if ending.data is not None:
        execution.staging.add(changes.KeepData(compact_json(ending.data), journal.turn))
    if error is not None:
        execution.staging.tell(events.error(error))
    execution.staging.tell(
        events.plain(events.STEP_COMPLETED, {"order": journal.step, "state": to_state}),
        events.plain(events.TURN_PAUSED, {}) if paused else events.turn_completed(to_state, usage, error, ending.data),
        events.done(
            journal.turn_id, ending.answer, to_state, journal.step, limit=ending.limit, failure=error, data=ending.data
        ),
    )
