"""How a session that no live turn has comes to its next step: repaired, merged, begun, answered (T4, T20, T30)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from agentflow import events
from agentflow.clock import Instant
from agentflow.conversation import view
from agentflow.conversation.inbox import (
    AskUserAnswer,
    ClientAppend,
    ClientMessage,
    ClientMessages,
    Input,
    TurnOptions,
    refuse_blank,
)
from agentflow.conversation.pauses.answers import Answers, brings_parts, format_answers, parts_of, said_in
from agentflow.conversation.pauses.awaited import QUESTIONS, Awaited
from agentflow.conversation.questions import read_questions
from agentflow.conversation.repair import ABORTED_BY_USER
from agentflow.conversation.tree import Place
from agentflow.errors import AgentflowError, InvalidInput
from agentflow.message import ExecutionStatus, Message, ToolCallStatus, TurnState
from agentflow.store import rows
from agentflow.store.reads.known_nodes import KnownRows
from agentflow.store.reads.messages import message_at
from agentflow.store.reads.plans import newest, shown
from agentflow.store.reads.questions import Pending, pending_questions
from agentflow.store.records import Claimed, Recorded, Replayed
from agentflow.store.requests import Owning
from agentflow.store.session.close_turn import close_paused, head_id, repair, turn_usage
from agentflow.store.session.refusals import refuse_answer
from agentflow.store.session.session_row import SessionRow
from agentflow.store.session.turn_options import kept, read_options
from agentflow.store.session.waiting import end_waiting, take_first
from agentflow.store.sql.transaction import Tx
from agentflow.turn_table import Trigger, move

_ANSWER = move(TurnState.PAUSED_ASK_USER, Trigger.ANSWER)


class OpenStep:
    """A session that no live turn has, on its way to the next step."""

    def __init__(self, tx: Tx, session: SessionRow, owning: Owning) -> None:
        self.tx = tx
        self.session = session
        self.owning = owning
        self.pending = [] if session.created else pending_questions(tx, session.key)
        self.before: list[tuple[str, tuple[events.LogEntry, ...]]] = []
        self.expired: AgentflowError | None = None
        self.previous_ended_at = session.ended_at

    def repair_dead(self) -> None:
        session, owning = self.session, self.owning
        if session.turn is None:
            return
        turn = session.turn
        self.previous_ended_at = min(session.lease_until or owning.at, owning.at)  # its last sign of life
        turn_id = repair(self.tx, session, turn, owning.at, owning.new_id)
        session.turn = None
        self._flush_before(turn_id, turn)

    def expire_question(self) -> None:
        """Abort the paused turn of the path when its question's time is over (T21)."""
        paused = self.paused_here()
        if paused is None or not self._is_expired(paused):
            return
        self.expired = Awaited(paused.kind, paused.call_id).expired()
        self._close(paused, "the question was not answered in time.", None, self.expired)

    def _is_expired(self, paused: Pending) -> bool:
        return paused.expires_at is not None and paused.expires_at <= self.owning.at

    def stop_question(self) -> None:
        """Stop the paused turn of the path, as its user would (C25, T25)."""
        paused = self.paused_here()
        if paused is not None:
            self._close(paused, "the user stopped the turn.", ABORTED_BY_USER, None)

    def stop_as_asked(self) -> None:
        """Stop the paused turn of the path when that was asked for while it was about to pause (T25)."""
        paused = self.paused_here()
        if paused is not None and self.session.stop_turn == paused.turn_id:
            self.stop_question()

    def _close(self, paused: Pending, why: str, marker: str | None, error: AgentflowError | None) -> None:
        session, owning = self.session, self.owning
        turn_id = close_paused(self.tx, session, paused.turn, owning.at, owning.new_id, why, marker, error)
        self.pending.remove(paused)
        self._flush_before(turn_id, paused.turn)

    def _flush_before(self, turn_id: str, turn: int) -> None:
        self.before.append((turn_id, tuple(self.session.flush(self.tx, turn, self.owning.at))))

    def first_waiting(self) -> Claimed | None:
        """Begin the first waiting turn that can begin; one whose input is refused by now has failed (C17, C24)."""
        while self.session.queued and self.paused_here() is None:
            entry = take_first(self.tx, self.session)
            turn_id = entry.turn_id or self.owning.new_id()
            try:
                begun = self.begin(entry, turn_id)
            except InvalidInput as error:
                self._flush_before(turn_id, end_waiting(self.session, turn_id, TurnState.FAILED, self.owning.at, error))
                self.session.save(self.tx, self.owning.at)
                continue
            if isinstance(begun, Claimed):
                return begun
        return None

    def paused_here(self) -> Pending | None:
        """The question the active path waits for (C6)."""
        return next((pending for pending in self.pending if pending.place == self.session.head), None)

    def begin(self, given: Input, turn_id: str) -> Claimed | Replayed:
        if isinstance(given, AskUserAnswer):
            return self._answer(given, turn_id)
        if not isinstance(given, ClientMessage | ClientAppend | ClientMessages):
            raise InvalidInput(f"{given.type} starts no turn.")
        merged = self._merge(given)
        if not merged.paused:
            refuse_blank(given, {message.id for message in merged.news})
            return self._new_turn(given, turn_id, merged)
        paused = next(p for p in self.pending if merged.cursor is not None and p.place == merged.cursor.place)
        if self._is_expired(paused):  # of a branch that the view has come back to
            self._move_head(merged)
            self.expire_question()
            return self.begin(given, turn_id)
        if not merged.news:
            return self._stay_paused(paused, merged, given.turn_id)
        self._move_head(merged)
        return self._resume(paused, said_in(merged.news), merged.news, given, turn_id)

    def record_only(self, given: ClientAppend | ClientMessages, turn_id: str | None) -> Recorded:
        """Record what the input adds, of no turn, and leave it there (C8); the session's row is left to `save`."""
        session, owning, after_seq = self.session, self.owning, self.session.seq
        merged = self._merge(given)
        if merged.paused and merged.news:
            raise InvalidInput("record_only: the path waits for an answer, which a turn has to take.")
        if session.created:
            session.tell(events.plain(events.SESSION_CREATED, {"agent_id": owning.agent}))
        self._move_head(merged)
        session.record(self.tx, merged.writes, 0, 0, None if merged.cursor is None else merged.cursor.id)
        if turn_id is not None:
            session.rows.append(rows.InsertAlias("turn", turn_id, "", None, after_seq))
        session.flush(self.tx, None, owning.at)
        return Recorded(after_seq)

    def _merge(self, given: ClientMessage | ClientAppend | ClientMessages) -> view.Merge:
        known = KnownRows(self.tx, self.session.key, {pending.place for pending in self.pending})
        head, new_id = known.at(self.session.head), self.owning.new_id
        compose = view.merge if isinstance(given, ClientMessages) else view.append
        return compose(known, head, given.messages, new_id, root=self.session.head)

    def _move_head(self, merged: view.Merge) -> None:
        if merged.head_moved:
            head_id = None if merged.cursor is None else merged.cursor.id
            self.session.tell(events.plain(events.HEAD_MOVED, {"head_id": head_id}))
        self.session.head = merged.place

    def _stay_paused(self, paused: Pending, merged: view.Merge, turn_id: str | None) -> Replayed:
        """A view that ends on a paused head finds its question there (C27)."""
        self._move_head(merged)
        if turn_id is not None and turn_id != paused.turn_id:
            self.session.rows.append(rows.InsertAlias("turn", turn_id, paused.turn_id, None, paused.after_seq))
        self.session.flush(self.tx, None, self.owning.at)
        self.session.save(self.tx, self.owning.at)
        return Replayed(paused.turn_id, paused.after_seq)

    def _new_turn(self, given: Input, turn_id: str, merged: view.Merge) -> Claimed:
        session, owning = self.session, self.owning
        after_seq = session.seq
        options = replace(given.options, inputs=owning.check_inputs(given.inputs))
        config_hash, config_text = owning.config(options.limits)
        said = kept(options)
        self._drop_todos()
        session.turns += 1
        session.steps += 1
        session.executions += 1
        if session.created:
            session.tell(events.plain(events.SESSION_CREATED, {"agent_id": owning.agent}))
        session.tell(events.turn_started(turn_id, config_hash))
        self._move_head(merged)
        base = session.head
        session.rows += (
            rows.InsertBlob(config_hash, config_text),
            *said.rows,
            rows.InsertTurn(
                session.turns,
                turn_id,
                TurnState.RUNNING,
                config_hash,
                owning.at,
                said.request,
                after_seq,
                said.tools_hash,
            ),
            rows.InsertExecution(
                session.executions, session.turns, owning.agent, config_hash, ExecutionStatus.RUNNING, owning.at
            ),
        )
        parent = None if merged.cursor is None else merged.cursor.id
        messages = session.record(self.tx, merged.writes, session.turns, session.executions, parent)
        answer = self._answer_there(merged, messages)
        claimed = self._open_step(
            session.turns, turn_id, session.executions, base, messages, options, answered=answer is not None
        )
        forks = not messages and session.head is not None and not session.is_tip(self.tx)
        delivered = (*given.messages[: merged.new_from], *merged.news) if isinstance(given, ClientMessages) else ()
        claimed = replace(claimed, delivered=delivered, new_from=merged.new_from)
        return replace(claimed, answer=answer, forks=forks, previous_ended_at=self.previous_ended_at)

    def _answer_there(self, merged: view.Merge, messages: tuple[Message, ...]) -> Message | None:
        """The assistant message the path ends in: there is nothing to answer (C13)."""
        if messages:
            return messages[-1] if messages[-1].role == "assistant" else None
        last = merged.ends_with or merged.cursor
        if last is None or last.role != "assistant" or last.calls:
            return None
        return message_at(self.tx, self.session.key, last.id)

    def _drop_todos(self) -> None:
        """A new request starts with an empty list; the client is told when there was one (T32)."""
        if self.owning.planning and (before := shown(self.tx, self.session.key)) is not None and before.items:
            self.session.tell(events.todo([], 0, 0))

    def _restore_todos(self, turn: int, main: int) -> None:
        """A resumed turn has its list back; the client is told when it saw another one meanwhile (T32)."""
        if not self.owning.planning:
            return
        listed = newest(self.tx, self.session.key, turn, main)
        if listed is not None and listed != shown(self.tx, self.session.key):
            self.session.tell(events.todo(list(listed.items), listed.execution, listed.number))

    def _answer(self, given: AskUserAnswer, turn_id: str) -> Claimed:
        here = self.paused_here()
        if here is None or (here.kind, here.call_id) != (QUESTIONS, given.tool_call_id):
            refuse_answer(self.tx, self.session.key, given.tool_call_id, self.owning.at)
        return self._resume(here, given.answers, (), given, turn_id)

    def _resume(
        self, paused: Pending, answers: Answers, news: Sequence[Message], given: Input, turn_id: str
    ) -> Claimed:
        """The answer becomes the call's result and the same turn goes on in a new step (T19, T20).

        Pictures and files of the answering messages `news` follow it as a user message.
        """
        session, owning, base, after_seq = self.session, self.owning, self.session.head, self.session.seq
        before, options = self._resumed_options(paused.turn, given.options)
        config = owning.config(options.limits)
        parts = parts_of(news)
        questions = read_questions(json.loads(paused.asked))
        text = format_answers(questions, answers, attached=parts is not None)
        recorded = [Message(owning.new_id(), "tool", text, (), paused.call_id, "ask_user")]
        recorded += [] if parts is None else [Message(owning.new_id(), "user", parts)]
        result = recorded[0]
        session.steps += 1
        from_state, to_state = _ANSWER
        main, *below = self._paused_executions(paused.turn)
        session.rows += (
            rows.MoveQuestion("answered", paused.execution, paused.call_id, "pending"),
            rows.MoveTurn(to_state, paused.turn, from_state),
            *(rows.MoveExecution(ExecutionStatus.RUNNING, None, execution) for execution in (main, *below)),
            rows.EndToolCall(
                ToolCallStatus.FINISHED, None, 1, result.id, None, 0, paused.execution, paused.call_id,
                ToolCallStatus.PLANNED,
            ),
        )  # fmt: skip
        # What a sub-agent is answered is no node of the conversation; the message that waits for it is.
        waiting = None if paused.execution == main else head_id(self.tx, session) or ""
        named = {
            message.id: waiting or recorded[-1 if brings_parts(message) else 0].id for message in news if message.id
        }
        session.rows += [rows.InsertAlias("message", alias, target) for alias, target in named.items()]
        if turn_id != paused.turn_id:
            session.rows.append(rows.InsertAlias("turn", turn_id, paused.turn_id, session.steps, after_seq))
        if options != before:
            request, tools_hash, blobs = kept(options)
            session.rows += (*blobs, rows.ResumeTurn(request, tools_hash, paused.turn))
        session.rows.append(rows.InsertBlob(*config))
        session.tell(events.ask_user_answered(paused.call_id, config[0]))
        self._restore_todos(paused.turn, main)
        if paused.execution == main:
            session.record(self.tx, recorded, paused.turn, main, head_id(self.tx, session))
            session.tell(events.tool_call_ended(result, ok=True))
        else:
            ended = events.tool_call_ended(result, ok=True)
            for message in recorded:
                entries = [ended] if message is result else []
                session.record_below(self.tx, message, paused.turn, paused.execution, *entries)
        claimed = self._open_step(
            paused.turn, paused.turn_id, main, base, tuple(recorded), options, answered=paused.execution != main
        )
        return replace(
            claimed, resumed=True, asking=paused.execution, usage=turn_usage(self.tx, session.key, paused.turn),
            worked=self._worked(paused.turn),
        )  # fmt: skip

    def _resumed_options(self, turn: int, answer: TurnOptions) -> tuple[TurnOptions, TurnOptions]:
        """What the turn's requests said so far, and what they say with the one that answers (C8, T19)."""
        before = read_options(self.tx, self.session.key, turn)
        options = before.resumed_with(answer)
        return before, replace(options, inputs=self.owning.check_inputs(options.inputs)) if answer.inputs else options

    def _worked(self, turn: int) -> Instant:
        """How long the turn's earlier steps took; the pauses between them do not count."""
        took = "SELECT sum(completed_at - opened_at) FROM step WHERE session_key = ? AND turn = ?"
        return max(int(self.tx.one(took, self.session.key, turn)[0] or 0), 0)

    def _paused_executions(self, turn: int) -> list[int]:
        """The main execution of a paused turn, and those of the sub-agents it was handed to."""
        waiting = "SELECT number FROM execution WHERE session_key = ? AND turn = ? AND status = ? ORDER BY number"
        found = self.tx.all(waiting, self.session.key, turn, ExecutionStatus.PENDING_USER_INPUT)
        return [number for (number,) in found]

    def _open_step(
        self, turn: int, turn_id: str, execution: int, base: Place | None, messages: tuple[Message, ...],
        options: TurnOptions, *, answered: bool = False,
    ) -> Claimed:  # fmt: skip
        session, owning = self.session, self.owning
        last_id = head_id(self.tx, session)
        asked = next((message.id for message in reversed(messages) if message.role in ("user", "tool")), None)
        session.rows.append(rows.InsertStep(session.steps, turn, TurnState.RUNNING, owning.at, asked))
        session.tell(events.step_started(session.steps))
        call_id = None
        if owning.call_model is not None and not answered:
            call_id = owning.new_id()
            session.rows.append(
                rows.InsertLlmCall(
                    call_id, turn, execution, session.steps, 1, "main", owning.call_model, "requested", owning.at,
                    session.branch, session.depth,
                )
            )  # fmt: skip
            session.tell(events.llm_call_requested(events.ModelCall(call_id, 1, "main", owning.call_model)))
        log = tuple(session.flush(self.tx, turn, owning.at))
        session.epoch += 1
        session.turn, session.owner, session.lease_until = turn, owning.owner, owning.lease_until
        session.stop_turn = None
        session.save(self.tx, owning.at)
        return Claimed(
            session.key, session.epoch, turn, turn_id, session.steps, execution, base, session.head, last_id,
            session.branches, session.executions, options, messages, call_id, session.seq, log,
            tuple(self.before),
        )  # fmt: skip
