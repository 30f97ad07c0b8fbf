"""A paused turn goes on: what it waited for is recorded, and its next step opens (T19, T20, C38, C39)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from agentflow import events
from agentflow.clock import Instant
from agentflow.conversation.inbox import Input, TurnOptions
from agentflow.conversation.pauses.answers import Answers, brings_parts, format_answers, parts_of
from agentflow.conversation.pauses.awaited import QUESTIONS
from agentflow.conversation.questions import read_questions
from agentflow.message import ExecutionStatus, Message, ToolCallStatus, TurnState
from agentflow.store.ended.turn_ended import turn_ended
from agentflow.store.outcomes import Claimed
from agentflow.store.reads.known_nodes import KnownRows
from agentflow.store.reads.plans import newest, shown
from agentflow.store.reads.questions import Pending
from agentflow.store.rows import changes, inserts
from agentflow.store.session.begin_step import Claiming
from agentflow.store.session.close_turn import head_id, turn_usage
from agentflow.store.session.turn_options import kept, read_options
from agentflow.text import stored_json
from agentflow.tools.results import ToolResult
from agentflow.turn_table import Trigger, move

_ANSWER = move(TurnState.PAUSED_ASK_USER, Trigger.ANSWER)
_CALL = "SELECT 1 FROM tool_call WHERE session_key = ? AND execution = ? AND id = ?"


class Resume:
    """One paused turn, `paused`, on its way to its next step by the request `given`; `main` is its own execution."""

    def __init__(self, claiming: Claiming, paused: Pending, given: Input) -> None:
        self.paused = paused
        self._claiming = claiming
        self._tx, self._session, self._owning = claiming.tx, claiming.session, claiming.owning
        self._base, self._after_seq = claiming.session.head, claiming.session.seq
        self._executions = self._paused_executions()
        self.main = self._executions[0]
        self.recorded: list[Message] = []
        self._before, self._options = self._said(given.options)
        self._config = self._owning.config(self._options.limits)
        self._owning.check_tools(given.options.tools)

    def answer(
        self, answers: Answers, news: Sequence[Message], turn_id: str, follow_up: Sequence[Message] = ()
    ) -> Claimed:
        """The answer becomes the call's result; pictures and files of the answering messages `news` follow it as a user
        message (T19), and so do the messages of `follow_up` that are not recorded yet (G4).
        """
        parts, paused, new_id = parts_of(news), self.paused, self._owning.new_id
        text = format_answers(read_questions(stored_json(paused.asked)), answers, attached=parts is not None)
        self._session.tell(events.ask_user_answered(paused.call_id, self._config[0]))
        self._restore_todos()
        self.record_result(paused.call_id, "ask_user", new_id(), ToolResult(True, text), ToolCallStatus.PLANNED)
        if parts is not None:
            files = tuple(file for message in news for file in message.files)
            self.record([Message(new_id(), "user", parts, files=files)])
        known = KnownRows(self._tx, self._session.key, {}).recorded([message.id for message in follow_up if message.id])
        new = [message for message in follow_up if message.id not in known]
        self.record([replace(message, id=message.id or new_id()) for message in new])
        # What a sub-agent is answered is no node of the conversation; the message that waits for it is.
        waiting = None if paused.execution == self.main else head_id(self._tx, self._session) or ""
        named = {m.id: self.recorded[-1 if brings_parts(m) else 0].id for m in news if m.id}
        self._session.rows += [inserts.InsertAlias("message", alias, waiting or named[alias]) for alias in named]
        return self.go_on(turn_id)

    def record(self, messages: Sequence[Message]) -> None:
        """Stage messages at the end of the path that waits: the main one, or that of the sub-agent's run that asked."""
        session, paused = self._session, self.paused
        self.recorded += messages
        if paused.execution == self.main:
            session.record(self._tx, messages, paused.turn, self.main, head_id(self._tx, session))
            return
        for message in messages:
            session.record_below(self._tx, message, paused.turn, paused.execution)

    def record_result(
        self, call_id: str, name: str, message_id: str, result: ToolResult, status: ToolCallStatus
    ) -> None:
        """Stage the result of an open call, which stands in this status."""
        execution = self.paused.execution
        message = Message(message_id, "tool", result.content, (), call_id, name, files=result.files)
        if self._tx.one(_CALL, self._session.key, execution, call_id) is None:  # deleted from outside (C36)
            reply_id = head_id(self._tx, self._session) or ""
            lost = inserts.InsertToolCall(execution, call_id, self.paused.turn, reply_id, name, status, None)
            self._session.rows.append(lost)
        self._session.rows.append(
            changes.EndToolCall(
                ToolCallStatus.FINISHED, None, int(result.ok), message_id, result.full, int(result.altered), execution,
                call_id, status,
            )
        )  # fmt: skip
        self.record([message])
        ended = events.tool_call_ended(message, ok=result.ok)
        self._session.tell(ended if execution == self.main else events.of_execution(ended, execution))

    def stay(self, turn_id: str | None) -> None:
        """The turn goes on waiting, at the place where its path ends now; the session's row is saved."""
        session, paused, owning = self._session, self.paused, self._owning
        if self.recorded and session.head is not None:
            place = session.head
            session.rows.append(changes.MovePause(*place, paused.execution, paused.call_id, "pending"))
        if turn_id is not None and turn_id != paused.turn_id:
            session.rows.append(inserts.InsertAlias("turn", turn_id, paused.turn_id, None, self._after_seq))
        session.flush(self._tx, paused.turn if self.recorded else None, owning.at)
        session.save(self._tx, owning.at)
        if self.recorded:
            turn_ended(self._tx, session.key, paused.turn)

    def go_on(self, turn_id: str) -> Claimed:
        """The same turn goes on in a new step, with the configuration of this moment (T20, A7)."""
        session, paused = self._session, self.paused
        session.steps += 1
        from_state, to_state = _ANSWER
        session.rows += (
            changes.MoveQuestion("answered", paused.execution, paused.call_id, "pending"),
            changes.MoveTurn(to_state, paused.turn, from_state),
            *(changes.MoveExecution(ExecutionStatus.RUNNING, None, execution) for execution in self._executions),
        )
        if turn_id != paused.turn_id:
            session.rows.append(inserts.InsertAlias("turn", turn_id, paused.turn_id, session.steps, self._after_seq))
        if self._options != self._before:
            request, tools_hash, blobs = kept(self._options)
            session.rows += (*blobs, changes.ResumeTurn(request, tools_hash, paused.turn))
        session.rows += (inserts.InsertBlob(*self._config), changes.ConfigureRun(self._config[0], self.main))
        if paused.kind != QUESTIONS:
            self._restore_todos()
        claimed = self._claiming.open_step(
            paused.turn, paused.turn_id, self.main, self._base, tuple(self.recorded), self._options,
            answered=paused.execution != self.main,
        )  # fmt: skip
        worked, traceparent = self._earlier()
        return replace(
            claimed, resumed=True, asking=paused.execution, usage=turn_usage(self._tx, session.key, paused.turn),
            worked=worked, traceparent=traceparent,
        )  # fmt: skip

    def _said(self, answer: TurnOptions) -> tuple[TurnOptions, TurnOptions]:
        """What the turn's requests said so far, and what they say with the one that answers (C8, T19)."""
        before = read_options(self._tx, self._session.key, self.paused.turn)
        options = before.resumed_with(answer)
        return before, replace(options, inputs=self._owning.check_inputs(options.inputs)) if answer.inputs else options

    def _restore_todos(self) -> None:
        """A resumed turn has its list back; the client is told when it saw another one meanwhile (T32)."""
        if not self._owning.planning:
            return
        key = self._session.key
        listed = newest(self._tx, key, self.paused.turn, self.main)
        if listed is not None and listed != shown(self._tx, key):
            self._session.tell(events.todo(list(listed.items), listed.execution, listed.number))

    def _earlier(self) -> tuple[Instant, str | None]:
        """How long the turn's earlier steps took, without the pauses between them, and the span of its first part."""
        earlier = (
            "SELECT sum(completed_at - opened_at), max(traceparent) FROM turn JOIN step "
            "ON step.session_key = turn.session_key AND step.number >= turn.first_step AND step.turn = turn.number "
            "WHERE turn.session_key = ? AND turn.number = ?"
        )
        took, traceparent = self._tx.one(earlier, self._session.key, self.paused.turn)
        return max(int(took or 0), 0), traceparent

    def _paused_executions(self) -> list[int]:
        """The main execution of the paused turn, and those of the sub-agents it was handed to."""
        waiting = (
            "SELECT execution.number FROM turn JOIN execution ON execution.session_key = turn.session_key "
            "AND execution.number >= coalesce(turn.execution, 0) AND execution.turn = turn.number "
            "WHERE turn.session_key = ? AND turn.number = ? AND status = ? ORDER BY execution.number"
        )
        found = self._tx.all(waiting, self._session.key, self.paused.turn, ExecutionStatus.PENDING_USER_INPUT)
        return [number for (number,) in found]
