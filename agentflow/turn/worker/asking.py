"""Asking a worker: the request of each decision, and its answer, judged, as a decision (C31-C33)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from agentflow import clock, events
from agentflow.agents.worker import DECISION_SECS, FailedAttempt, Worker
from agentflow.config.keys.references import SCRIPTED
from agentflow.conversation import wire
from agentflow.conversation.history import UnpairedHistory, exchanges
from agentflow.conversation.state import same_json
from agentflow.errors import AgentflowError, InvalidInput, WorkerFailed
from agentflow.message import Message, ToolCall
from agentflow.turn.decide.actions import Call, CallModel, CallTool, ReplaceContext
from agentflow.turn.decide.decision import Changes, Decision
from agentflow.turn.decide.judge import Situation, judge
from agentflow.turn.decide.protocol import Response, failed, input_of, read_response, shown_action
from agentflow.turn.decide.triggers import (
    ContextLimit,
    MessagesDelivered,
    ReplyFinished,
    SessionStart,
    ToolFinished,
    Trigger,
)
from agentflow.turn.run.execution import Execution
from agentflow.turn.run.recorded_path import recorded_path
from agentflow.turn.run.step import Step
from agentflow.turn.worker.in_force import InForce


class AskedWorker:
    """Decides as the worker of a run says. `given_ids` are what it called calls that got an id of ours (C33)."""

    def __init__(self, step: Step, execution: Execution, worker: Worker, in_force: InForce) -> None:
        self.given_ids: dict[str, str] = {}
        self._step = step
        self._execution = execution
        self._worker = worker
        self._in_force = in_force
        self._asked = 0

    async def start(self) -> None:
        """Ask `session.start`, unless it has been answered: the configuration may be changed before the first turn."""
        if self._in_force.started:
            return
        proposed = {"agent": self._execution.agent.config.public()}
        response = await self._ask(SessionStart(), proposed, ())
        judge(response, Situation(SessionStart.point))
        self._in_force.note(self._changes(response) or Changes(), at_root=True)
        self._in_force.begun()

    async def decide(self, trigger: Trigger, proposal: Decision) -> Decision:
        path = await self._path()
        if isinstance(trigger, MessagesDelivered) and trigger.messages is None:
            trigger = replace(trigger, messages=path)
        brought = proposal.record
        shown = [message.as_dict() for message in (*path, *(() if brought is None else (brought,)))]
        calls = () if brought is None else brought.tool_calls
        proposed = {"messages": shown, "actions": [shown_action(action, calls) for action in proposal.actions]}
        response = await self._ask(trigger, proposed, shown)
        changes = self._changes(response)
        if response.took:
            return proposal if changes is None else replace(proposal, changes=changes)
        decision = _with_reply_after(judge(response, self._situation(trigger, proposal, path)))
        if decision.replace is not None:
            await self._check_pairs(decision.replace, (*(decision.view or ()), *_one(decision.record)))
        return replace(decision, changes=changes, calls=tuple(_as_said(call, calls) for call in decision.calls))

    # -- the request -----------------------------------------------------------------------------------------------

    async def _ask(self, trigger: Trigger, proposed: Mapping[str, Any], shown: Sequence[Mapping[str, Any]]) -> Response:
        execution, journal = self._execution, self._execution.journal
        self._refuse_in_evaluation()
        self._asked += 1
        run = "" if execution.parent is None else f".{execution.number}"
        request = {
            "session_id": journal.session_id,
            "decision_id": f"{journal.turn_id}:{journal.step}{run}:{self._asked}",
            "turn_id": journal.turn_id,
            "execution": 0 if execution.parent is None else execution.number,
            "agent_id": execution.agent.config.name,
            "trigger": trigger.told(),
            "proposed": proposed,
            "state": self._in_force.state,
            "agent": execution.agent.config.public(),
            "calls": [self._told(call.id, call.name, call.status) for call in execution.in_flight.calls.values()],
            "messages": shown,
            "deadline": clock.rfc3339(clock.instant() + int(DECISION_SECS * clock.SECOND)),
        }
        with self._step.interrupt.window():
            raw = await self._worker.decide(request, self._retrying)
        return read_response(raw, proposed)

    def _refuse_in_evaluation(self) -> None:
        """A worker is somebody else, who may act: an evaluation asks it only where it was told to (R9)."""
        stand_in, agent = self._step.source.stand_in, self._execution.agent.config.name
        if stand_in is not None and not stand_in.asks_worker(agent):
            raise WorkerFailed(
                f"The worker of agent {agent!r} is not asked in an evaluation, unless `worker` is a live tool of it.",
                detail={"agent": agent},
            )

    def _told(self, call_id: str, name: str, status: str) -> dict[str, str]:
        told = {"id": call_id, "name": name, "status": status}
        return told | ({"given_id": self.given_ids[call_id]} if call_id in self.given_ids else {})

    def _retrying(self, attempt: FailedAttempt) -> None:
        journal = self._execution.journal
        said = {"attempt": attempt.attempt, "error": attempt.error, "next_secs": attempt.next_secs}
        journal.feed.tell(
            events.Event(
                journal.session_id, None, journal.turn_id, clock.instant(), events.WORKER_RETRYING,
                said | self._execution.delta_says,
            )
        )  # fmt: skip

    async def _path(self) -> list[Message]:
        """The conversation as it is recorded and staged; read again where it has become another one."""
        staging = self._execution.staging
        if staging.path is None:
            if staging:
                await self._execution.commit()
            entries = await recorded_path(self._step, self._execution)
            staging.follow([entry.message for entry in entries])
        return staging.path or []

    # -- the answer ------------------------------------------------------------------------------------------------

    def _changes(self, response: Response) -> Changes | None:
        try:
            agent = self._in_force.changed(response.agent)
        except InvalidInput as refused:
            raise failed(refused) from None
        return None if response.state is None and not agent else Changes(response.state, agent)

    def _situation(self, trigger: Trigger, proposal: Decision, path: Sequence[Message]) -> Situation:
        execution = self._execution
        agent, open_calls = execution.agent, dict(execution.in_flight.calls)
        if isinstance(trigger, ToolFinished):
            open_calls.pop(trigger.call.id, None)
        return Situation(
            trigger.point, path, proposal.record, tuple(open_calls),
            tuple(id_ for id_, call in open_calls.items() if call.name in agent.worker_tools),
            trigger.held if isinstance(trigger, ContextLimit | ReplyFinished) else None,
            isinstance(trigger, ContextLimit | ReplyFinished) and trigger.can_summarize,
            tuple(agent.tools), tuple(agent.enders), tuple(agent.config.interfaces), execution.heard, self._unusable,
        )  # fmt: skip

    def _unusable(self, call: CallModel) -> tuple[str, str] | None:
        execution = self._execution
        if call.model is not None and "/" in call.model.removeprefix(SCRIPTED) and call.model.startswith(SCRIPTED):
            return "model", f"{call.model!r} is the path of a script; a worker names one of the agent's own folder"
        try:
            execution.agent.model_for(call.interface, call.model)
        except AgentflowError as error:
            return "model", f"{call.model!r} cannot be opened: {error.message}"
        if call.prompt is not None and call.purpose == "main":
            try:
                self._in_force.prompt_with(call.prompt, template=call.template)
            except AgentflowError as error:
                return "prompt", f"cannot be used: {error.message}"
        return None

    async def _check_pairs(self, action: ReplaceContext, coming: Sequence[Message]) -> None:
        """Whole exchanges only (X19). What is recorded counts as recorded, and so does what this answer records."""
        ids = [message.id for message in action.messages if message.id]
        recorded = {message.id: message for message in coming}
        for entry in await self._step.store.entries(self._execution.journal.session_key, ids):
            recorded[entry.message.id] = entry.message
        messages = [recorded.get(message.id, message) for message in action.messages]
        try:
            for index, message in enumerate(action.messages):
                if message.id not in recorded:
                    wire.refuse_engine_fields(message, f"context.replace.messages[{index}]")
        except InvalidInput as refused:
            raise failed(refused) from None
        try:
            still_open = [call for exchange in exchanges(messages) for call in exchange.open]
        except UnpairedHistory as error:
            raise _splits(str(error)) from None
        if still_open:
            raise _splits(f"call {still_open[0]!r} has no result")


def _one(message: Message | None) -> tuple[Message, ...]:
    return () if message is None else (message,)


def _as_said(call: Call, reply: Sequence[ToolCall]) -> Call:
    """A call whose input was given back as it was told runs with what the reply said, were it not even JSON (T13)."""
    asked = next((each for each in reply if each.id == call.id), None)
    if not isinstance(call, CallTool) or asked is None or call.input is None:
        return call
    return replace(call, input=None) if same_json(call.input, input_of(asked)) else call


def _with_reply_after(decision: Decision) -> Decision:
    """A reply whose calls this answer acts on follows the history that replaces the one before it (D21)."""
    record, replacement = decision.record, decision.replace
    if replacement is None or record is None or not decision.acts_on_reply:
        return decision
    kept = tuple(message for message in replacement.messages if message.id != record.id)
    return replace(decision, replace=replace(replacement, messages=kept))


def _splits(why: str) -> WorkerFailed:
    return WorkerFailed(
        f"The worker's answer cannot be used: its context.replace splits an exchange: {why}.",
        detail={"field": "context.replace.messages"},
    )
