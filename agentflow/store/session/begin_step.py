"""A step opens: the last thing a claim does, after what the request brought is recorded (T4, T20)."""

from __future__ import annotations

from dataclasses import dataclass, field

from agentflow import events
from agentflow.conversation.inbox import TurnOptions
from agentflow.conversation.tree import Place
from agentflow.message import Message, TurnState
from agentflow.store.outcomes import Claimed
from agentflow.store.requests import Owning
from agentflow.store.rows import inserts
from agentflow.store.session.close_turn import head_id
from agentflow.store.session.session_row import SessionRow
from agentflow.store.sql.transaction import Tx


@dataclass(slots=True)
class Claiming:
    """The transaction of a claim: whose it is, and what was told `before` for turns that ended by it (T30)."""

    tx: Tx
    session: SessionRow
    owning: Owning
    before: list[tuple[str, tuple[events.LogEntry, ...]]] = field(default_factory=list)

    def flush_before(self, turn_id: str, turn: int) -> None:
        """Write what ended an earlier turn."""
        self.before.append((turn_id, tuple(self.session.flush(self.tx, turn, self.owning.at))))

    def open_step(
        self, turn: int, turn_id: str, execution: int, base: Place | None, messages: tuple[Message, ...],
        options: TurnOptions, *, answered: bool = False,
    ) -> Claimed:  # fmt: skip
        """Open the turn's next step, numbered already, and take the session; its first model call is recorded as
        requested, unless something comes before it or it is `answered` already (T11).
        """
        session, owning = self.session, self.owning
        last_id = head_id(self.tx, session)
        asked = next((message.id for message in reversed(messages) if message.role in ("user", "tool")), None)
        session.rows.append(inserts.InsertStep(session.steps, turn, TurnState.RUNNING, owning.at, asked))
        session.tell(events.step_started(session.steps))
        call_id = None
        if owning.call_model is not None and not answered:
            call_id = owning.new_id()
            session.rows.append(
                inserts.InsertLlmCall(
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
            tuple(self.before), awaits_name=session.awaits_name,
        )  # fmt: skip
