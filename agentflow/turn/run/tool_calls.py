"""The tool calls of an execution as rows and events: requested, started, finished, closed, voided (T11, T14)."""

from __future__ import annotations

from agentflow import clock, events
from agentflow.clock import NewId
from agentflow.conversation.repair import Closing, OpenCall
from agentflow.message import Message, ToolCall, ToolCallStatus
from agentflow.store.rows import changes, inserts
from agentflow.tools.results import ToolResult
from agentflow.tools.tool import CLIENT, WORKER
from agentflow.turn.run.execution import Execution

_PLANNED, _STARTED = ToolCallStatus.PLANNED, ToolCallStatus.STARTED


def request(execution: Execution, call: ToolCall, reply_id: str, *, started: bool) -> None:
    """Stage a call of the reply: started in this very commit, or planned (T11)."""
    status, turn = _STARTED if started else _PLANNED, execution.journal.turn
    execution.spent.asked(call)
    execution.in_flight.open_call(OpenCall(execution.number, call.id, call.name, status))
    at = clock.instant() if started else None
    tool = execution.agent.tools.get(call.name)
    handler = tool.handler if tool is not None and tool.handler in (WORKER, CLIENT) else None
    execution.staging.add(
        inserts.InsertToolCall(execution.number, call.id, turn, reply_id, call.name, status, at, handler)
    )
    execution.staging.tell(events.tool_call_requested(call, reply_id))


def start(execution: Execution, call: ToolCall) -> None:
    """Stage a planned call as started: the commit comes before its function runs."""
    execution.in_flight.open_call(OpenCall(execution.number, call.id, call.name, _STARTED))
    execution.staging.add(changes.StartToolCall(_STARTED, clock.instant(), execution.number, call.id, _PLANNED))


def finish(
    execution: Execution, call_id: str, message_id: str, result: ToolResult, milliseconds: int | None
) -> Message:
    """Stage a call's own result."""
    execution.spent.answered(ok=result.ok)
    return _settle(execution, call_id, message_id, ToolCallStatus.FINISHED, result, milliseconds)


def close_all(execution: Execution, closing: Closing, new_id: NewId) -> list[Message]:
    """Stage the placeholder results of every open call (T24)."""
    return [
        _settle(
            execution, closed.call.id, new_id(), closed.status, ToolResult(closed.ok, closed.text, closed.full), None
        )
        for closed in closing.results
    ]


def void_all(execution: Execution) -> None:
    """The open calls' place left the path (C20)."""
    for call in list(execution.in_flight.calls.values()):
        execution.in_flight.close_call(call.id)
        execution.staging.add(changes.VoidToolCall(ToolCallStatus.VOIDED, execution.number, call.id, call.status))
        execution.staging.tell(events.plain(events.CALL_VOIDED, {"id": call.id, "name": call.name}))


def _settle(
    execution: Execution, call_id: str, message_id: str, status: ToolCallStatus, result: ToolResult,
    milliseconds: int | None,
) -> Message:  # fmt: skip
    call = execution.in_flight.close_call(call_id)
    message = Message(message_id, "tool", result.content, (), call.id, call.name, files=result.files)
    message = execution.staging.record(message)
    execution.staging.add(
        changes.EndToolCall(
            status, milliseconds, int(result.ok), message.id, result.full, int(result.altered), execution.number,
            call.id, call.status,
        )
    )  # fmt: skip
    execution.staging.tell(events.tool_call_ended(message, ok=result.ok))
    return message
