"""Results of calls that the client performs, given to the paused turn that waits for them (C39).

Each is recorded once, as it comes. The one that leaves no call open is found in the transaction that records it, under
the session's lock: then the same turn goes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from agentflow.conversation.pauses.awaited import TOOLS, Awaited
from agentflow.errors import CallAlreadyAnswered, InvalidInput
from agentflow.media.files import is_file
from agentflow.message import Message, ToolCallStatus, text_of
from agentflow.store.reads.messages import message_at
from agentflow.store.rows import inserts
from agentflow.store.session.begin_step import Claiming
from agentflow.store.session.close_turn import head_id
from agentflow.store.session.resume import Resume
from agentflow.store.sql.transaction import Tx
from agentflow.text import cut_middle, stored_json
from agentflow.tools.results import ToolResult, refused
from agentflow.tools.tool import CLIENT

_CALLS = (
    "SELECT tool_call.id, tool_call.name, tool_call.status, execution.agent FROM tool_call JOIN execution "
    "ON execution.session_key = tool_call.session_key AND execution.number = tool_call.execution "
    "WHERE tool_call.session_key = ? AND tool_call.execution = ? AND tool_call.turn = ?"
)
_CALL = (
    "SELECT turn.id, turn.after_seq, tool_call.turn, tool_call.execution, execution.agent, tool_call.name, "
    "tool_call.handler, tool_call.status, tool_call.ok, tool_call.result_id, tool_call.full_result FROM tool_call "
    "JOIN turn ON turn.session_key = tool_call.session_key AND turn.number = tool_call.turn "
    "JOIN execution ON execution.session_key = tool_call.session_key AND execution.number = tool_call.execution "
    "WHERE tool_call.session_key = ? AND tool_call.id = ? ORDER BY tool_call.turn DESC LIMIT 1"
)


@dataclass(frozen=True, slots=True)
class Call:
    """A call of the session as its row has it."""

    turn_id: str
    after_seq: int
    turn: int
    execution: int
    agent: str
    name: str
    handler: str | None
    status: str
    ok: int | None
    result_id: str | None
    full_result: str | None


def call_of(tx: Tx, key: int, call_id: str) -> Call | None:
    """The newest call of that id."""
    row = tx.one(_CALL, key, call_id)
    return None if row is None else Call(*row)


def result_of(message: Message) -> ToolResult:
    """What a client's tool message says."""
    text, content = text_of(message.content), message.content
    result = refused(text.removeprefix("Error: "), "tool_failed") if message.error else ToolResult(True, text)
    parts = tuple(filter(is_file, content)) if isinstance(content, list) else ()
    return replace(result, parts=parts, files=message.files)


def refuse_other(tx: Tx, key: int, call_id: str, call: Call, result: ToolResult) -> None:
    """An equal result for a call that has one is a repeated request; any other comes too late."""
    recorded = call.full_result
    if recorded is None and call.result_id is not None:
        recorded = text_of(message_at(tx, key, call.result_id).content)
    if (bool(call.ok), recorded) != (result.ok, result.text):
        raise CallAlreadyAnswered(f"The call {call_id!r} has another result already.", detail={"tool_call_id": call_id})


def refuse_expired(tx: Tx, key: int, call_id: str, call: Call) -> None:
    """Refuse a result that comes after the turn's time to wait for its client was over (T21)."""
    expired = (
        "SELECT 1 FROM question WHERE session_key = ? AND turn = ? AND execution = ? AND kind = ? AND state = 'expired'"
    )
    if tx.one(expired, key, call.turn, call.execution, TOOLS) is not None:
        raise Awaited(TOOLS, call_id).expired()


class ClientResults:
    """The open calls of one paused turn, and the results that a request brings for them."""

    def __init__(self, claiming: Claiming, resume: Resume) -> None:
        self._claiming = claiming
        self._resume = resume
        paused = resume.paused
        named = [each["tool_call_id"] for each in stored_json(paused.asked)]
        found = claiming.tx.all(_CALLS, claiming.session.key, paused.execution, paused.turn)
        self._calls = {id_: (name, status, agent) for id_, name, status, agent in found if id_ in named}

    @property
    def is_complete(self) -> bool:
        """Whether no call waits for its result any more."""
        return all(status == ToolCallStatus.FINISHED for _, status, _ in self._calls.values())

    def record(self, results: Sequence[Message]) -> None:
        """Record the tool messages. Raises `InvalidInput`, `CallAlreadyAnswered`; then nothing is written."""
        tx, key = self._claiming.tx, self._claiming.session.key
        for message in results:
            call_id, result = message.tool_call_id or "", result_of(message)
            if call_id not in self._calls:
                raise InvalidInput(
                    f"The call {call_id!r} is none that the client performs here.", detail={"tool_call_id": call_id}
                )
            name, status, agent = self._calls[call_id]
            if status == ToolCallStatus.FINISHED:
                self._claiming.session.flush(tx, self._resume.paused.turn, self._claiming.owning.at)
                call = call_of(tx, key, call_id)
                if call is not None:
                    refuse_other(tx, key, call_id, call, result)
                continue
            text = cut_middle(result.text, self._claiming.owning.result_chars(agent, name))
            cut = result if text == result.text else replace(result, text=text, full=result.text)
            self._resume.record_result(call_id, name, self._node(message), cut, ToolCallStatus(status))
            self._calls[call_id] = (name, ToolCallStatus.FINISHED, agent)

    def _node(self, message: Message) -> str:
        """The id of the node that a result becomes. What a sub-agent is given is no node of the conversation: there the
        message that waits for it has the client's id as its other name (C26).
        """
        session, new_id = self._claiming.session, self._claiming.owning.new_id
        taken = {recorded.id for recorded in self._resume.recorded}
        if not message.id or message.id in taken:
            return new_id()
        if self._resume.paused.execution == self._resume.main:
            return message.id
        session.rows.append(inserts.InsertAlias("message", message.id, head_id(self._claiming.tx, session) or ""))
        return new_id()


def repeated(tx: Tx, key: int, results: Sequence[Message]) -> Call | None:
    """The call that the last of these tool messages is a result of, when none of the calls waits for its client any
    more: they are a repeated request, or come too late. Raises `CallAlreadyAnswered`, `QuestionExpired`.
    """
    found = None
    for message in results:
        found = call_of(tx, key, message.tool_call_id or "")
        if found is None or found.handler != CLIENT or found.status in (ToolCallStatus.PLANNED, ToolCallStatus.STARTED):
            return None
        if found.status == ToolCallStatus.FINISHED:
            refuse_other(tx, key, message.tool_call_id or "", found, result_of(message))
        else:
            refuse_expired(tx, key, message.tool_call_id or "", found)
    return found
