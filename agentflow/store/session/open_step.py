"""How a session that no live turn has comes to its next step: repaired, merged, begun, answered (T4, T20, T30)."""

from __future__ import annotations

from dataclasses import replace

from agentflow import events
from agentflow.conversation import view
from agentflow.conversation.inbox import AskUserAnswer, ClientAppend, ClientMessage, ClientMessages, Input, refuse_blank
from agentflow.conversation.pauses.answers import said_in
from agentflow.conversation.pauses.awaited import QUESTIONS, Awaited
from agentflow.conversation.repair import ABORTED_BY_USER
from agentflow.errors import AgentflowError, InvalidInput
from agentflow.message import ExecutionStatus, Message, TurnState
from agentflow.store.outcomes import Claimed, Given, Recorded, Replayed
from agentflow.store.reads.known_nodes import KnownRows
from agentflow.store.reads.messages import message_at
from agentflow.store.reads.plans import shown
from agentflow.store.reads.questions import Pending, pending_questions
from agentflow.store.requests import Owning
from agentflow.store.rows import inserts
from agentflow.store.session.begin_step import Claiming
from agentflow.store.session.client_results import ClientResults
from agentflow.store.session.close_turn import close_paused, head_id, repair
from agentflow.store.session.refusals import refuse_answer
from agentflow.store.session.resume import Resume
from agentflow.store.session.session_row import SessionRow
from agentflow.store.session.turn_options import kept
from agentflow.store.session.waiting import end_waiting, take_first
from agentflow.store.sql.transaction import Tx


class OpenStep:
    """A session that no live turn has, on its way to the next step."""

    def __init__(self, tx: Tx, session: SessionRow, owning: Owning) -> None:
        self.tx = tx
        self.session = session
        self.owning = owning
        self.pending = [] if session.created else pending_questions(tx, session.key)
        self._claiming = Claiming(tx, session, owning)
        self.expired: AgentflowError | None = None
        self.previous_ended_at = session.ended_at

    def repair_dead(self) -> None:
        session, owning = self.session, self.owning
        if session.turn is None:
            return
        turn = session.turn
        self.previous_ended_at = min(session.lease_until or owning.at, owning.at)  # its last sign of life
        closed = repair(self.tx, session, turn, owning.at, owning.new_id)
        session.turn = None
        self._claiming.before.append((closed.turn_id, closed.log))

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
        closed = close_paused(self.tx, session, paused.turn, owning.at, owning.new_id, why, marker, error)
        self.pending.remove(paused)
        self._claiming.before.append((closed.turn_id, closed.log))

    def forget_before(self) -> None:
        """Whoever listens reads what ended before from the log."""
        self._claiming.before.clear()

    def first_waiting(self) -> Claimed | None:
        """Begin the first waiting turn that can begin; one whose input is refused by now has failed (C17, C24)."""
        while self.session.queued and self.paused_here() is None:
            entry = take_first(self.tx, self.session)
            turn_id = entry.turn_id or self.owning.new_id()
            try:
                begun = self.begin(entry, turn_id)
            except InvalidInput as error:
                log = end_waiting(self.tx, self.session, turn_id, TurnState.FAILED, self.owning.at, error)
                self._claiming.before.append((turn_id, log))
                self.session.save(self.tx, self.owning.at)
                continue
            if isinstance(begun, Claimed):
                return begun
        return None

    def paused_here(self) -> Pending | None:
        """The question the active path waits for (C6)."""
        return next((pending for pending in self.pending if pending.place == self.session.head), None)

    def begin(self, given: Input, turn_id: str) -> Claimed | Replayed | Given:
        if isinstance(given, AskUserAnswer):
            return self._answer(given, turn_id)
        if not isinstance(given, ClientMessage | ClientAppend | ClientMessages):
            raise InvalidInput(f"{given.type} starts no turn.")
        if isinstance(given, ClientMessages) and not self.owning.observed:
            known = KnownRows(self.tx, self.session.key, {})
            given = replace(given, messages=tuple(view.unerased(known, known.at(self.session.head), given.messages)))
        merged = self._merge(given)
        if not merged.paused:
            refuse_blank(given, {message.id for message in merged.news})
            return self._new_turn(given, turn_id, merged)
        where = merged.paused.place
        paused = next(pending for pending in self.pending if pending.place == where)
        self._stand_at(paused)
        if self._is_expired(paused):  # of a branch that the view has come back to
            self.expire_question()
            return self.begin(given, turn_id)
        if not merged.news:
            return self._stay_paused(paused, given.turn_id)
        if paused.kind != QUESTIONS:
            return self._client(paused, merged, given, turn_id)
        return Resume(self._claiming, paused, given).answer(said_in(merged.news), merged.news, turn_id)

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
            session.rows.append(inserts.InsertAlias("turn", turn_id, "", None, after_seq))
        session.flush(self.tx, None, owning.at)
        return Recorded(after_seq)

    def _merge(self, given: ClientMessage | ClientAppend | ClientMessages) -> view.Merge:
        known = KnownRows(self.tx, self.session.key, {pending.place: pending.kind for pending in self.pending})
        head, new_id = known.at(self.session.head), self.owning.new_id
        compose = view.merge if isinstance(given, ClientMessages) else view.append
        return compose(known, head, given.messages, new_id, root=self.session.head)

    def _move_head(self, merged: view.Merge) -> None:
        if merged.head_moved:
            head_id = None if merged.cursor is None else merged.cursor.id
            self.session.tell(events.plain(events.HEAD_MOVED, {"head_id": head_id}))
        self.session.head = merged.place

    def _stand_at(self, paused: Pending) -> None:
        """Where a paused turn's path ends, the head is while it is answered (C27)."""
        if self.session.head != paused.place:
            self.session.head = paused.place
            self.session.tell(events.plain(events.HEAD_MOVED, {"head_id": head_id(self.tx, self.session)}))

    def _client(
        self, paused: Pending, merged: view.Merge, given: ClientMessage | ClientAppend | ClientMessages, turn_id: str
    ) -> Claimed | Given:
        """Results of the client's calls, words that follow them, or words instead of them (C39)."""
        after_seq = self.session.seq
        resume = Resume(self._claiming, paused, given)
        results = ClientResults(self._claiming, resume)
        results.record([message for message in merged.news if message.role == "tool"])
        words = [message for message in merged.news if message.role == "user"]
        refuse_blank(given, {message.id for message in words})
        if results.is_complete:
            resume.record([replace(message, id=message.id or self.owning.new_id()) for message in words])
            return resume.go_on(turn_id)
        if not words:
            resume.stay(given.turn_id)
            return Given(paused.turn_id, after_seq)
        if resume.recorded:
            self._claiming.flush_before(paused.turn_id, paused.turn)
        self._close(paused, "the client gave no result.", ABORTED_BY_USER, None)
        known = KnownRows(self.tx, self.session.key, {})
        after = view.append(known, known.at(self.session.head), words, self.owning.new_id)
        return self._new_turn(given, turn_id, replace(after, new_from=merged.new_from))

    def _stay_paused(self, paused: Pending, turn_id: str | None) -> Replayed:
        """A view that ends on a paused head finds its question there (C27)."""
        if turn_id is not None and turn_id != paused.turn_id:
            self.session.rows.append(inserts.InsertAlias("turn", turn_id, paused.turn_id, None, paused.after_seq))
        self.session.flush(self.tx, None, self.owning.at)
        self.session.save(self.tx, self.owning.at)
        return Replayed(paused.turn_id, paused.after_seq)

    def _new_turn(self, given: Input, turn_id: str, merged: view.Merge) -> Claimed:
        session, owning = self.session, self.owning
        after_seq = session.seq
        options = replace(given.options, inputs=owning.check_inputs(given.inputs))
        config_hash, config_text = owning.config(options.limits)
        owning.check_tools(options.tools)
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
            inserts.InsertBlob(config_hash, config_text),
            *said.rows,
            inserts.InsertTurn(
                session.turns,
                turn_id,
                TurnState.RUNNING,
                config_hash,
                owning.at,
                said.request,
                after_seq,
                said.tools_hash,
                session.steps,
                session.executions,
            ),
            inserts.InsertExecution(
                session.executions, session.turns, owning.agent, config_hash, ExecutionStatus.RUNNING, owning.at
            ),
        )
        parent = None if merged.cursor is None else merged.cursor.id
        messages = session.record(self.tx, merged.writes, session.turns, session.executions, parent)
        answer = self._answer_there(merged, messages)
        claimed = self._claiming.open_step(
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

    def _answer(self, given: AskUserAnswer, turn_id: str) -> Claimed:
        here = self.paused_here()
        if here is None or (here.kind, here.call_id) != (QUESTIONS, given.tool_call_id):
            refuse_answer(self.tx, self.session.key, given.tool_call_id, self.owning.at)
        return Resume(self._claiming, here, given).answer(given.answers, (), turn_id, given.follow_up)
