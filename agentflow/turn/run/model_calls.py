"""The model calls of an execution as rows and events: requested, completed, failed, given up (T11, X6)."""

from __future__ import annotations

from dataclasses import dataclass

from agentflow import clock, events
from agentflow.context.tokens import Report
from agentflow.errors import AgentflowError
from agentflow.events import ModelCall
from agentflow.message import Message, Usage
from agentflow.models.assembly import Reply
from agentflow.models.protocol import FinishReason
from agentflow.store.rows import changes, inserts
from agentflow.text import compact_json
from agentflow.turn.run.execution import Execution
from agentflow.turn.run.in_flight import OpenStream


@dataclass(frozen=True, slots=True)
class Read:
    """What a call read beside its messages: the system prompt, and its tools as JSON, with their key if it is known."""

    prompt: str
    tools: str | None
    tools_key: str | None = None


def request(execution: Execution, call_id: str, model: str) -> None:
    """Stage a call of the loop as requested; it waits until it goes out."""
    execution.in_flight.wait(call_id, model)
    execution.transcript.model_called()
    stage_request(execution, ModelCall(call_id, execution.spent.iterations + 1, "main", model))


def change_model(execution: Execution, call_id: str, model: str) -> None:
    """A call that waits goes to another model than it was requested of."""
    execution.in_flight.wait(call_id, model)
    execution.staging.add(changes.ChangeModel(model, call_id))


def go_out(execution: Execution, stream: OpenStream) -> None:
    """A call of the loop goes out: one more iteration."""
    execution.spent.called()
    execution.in_flight.go_out(stream)


def complete(execution: Execution, reply: Reply, message: Message | None) -> None:
    """Stage the end of a call of the loop and the reply's message, if it says anything."""
    stream, usage = execution.in_flight.close_stream(), reply.usage or Usage()
    execution.transcript.reported(Report(usage.input, stream.request_chars))
    execution.journal.replied(reply.finish_reason)
    _end(execution, stream, "completed", usage, reply.finish, None)
    if message is not None:
        execution.staging.record(message)


def fail(execution: Execution, error: AgentflowError, status: str) -> str:
    """Stage the end of a call of the loop that gave no reply; what it had shown. Reported usage counts (X6)."""
    stream = execution.in_flight.close_stream()
    _end(execution, stream, status, stream.assembler.usage or Usage(), None, error)
    return stream.shown


def give_up(execution: Execution, call_id: str, error: AgentflowError) -> None:
    """Stage the end of a call that was requested and never went out."""
    model = execution.in_flight.waiting_model or execution.agent.model.name
    execution.in_flight.wait(None)
    lost = (None,) * 13
    execution.staging.add(changes.EndLlmCall("aborted", *lost, compact_json(error.as_dict()), None, None, call_id))
    told = ModelCall(call_id, execution.spent.iterations + 1, "main", model)
    execution.staging.tell(events.llm_call_errored(told, error.as_dict(), Usage()))


def stage_request(execution: Execution, call: ModelCall) -> None:
    """Stage any call as requested, at the place where the path ends now."""
    journal, place = execution.journal, execution.place or (None, None)
    execution.staging.add(
        inserts.InsertLlmCall(
            call.call_id, journal.turn, execution.number, journal.step, call.iteration or 0, call.purpose or "",
            call.model or "", "requested", clock.instant(), *place,
        )
    )  # fmt: skip
    execution.staging.tell(events.llm_call_requested(call))


def stage_end(
    execution: Execution, call: ModelCall, stream: OpenStream, read: Read, status: str, usage: Usage,
    finish: FinishReason | None, error: AgentflowError | None,
) -> None:  # fmt: skip
    """Stage the end of any call that went out, and count what it used."""
    execution.spend(usage)
    blob, failure = execution.staging.blob, None if error is None else error.as_dict()
    reason, word = (None, None) if finish is None else (finish.reason, finish.word)
    execution.staging.add(
        changes.EndLlmCall(
            status, stream.milliseconds(), stream.first_token_ms, stream.attempts, stream.request_chars,
            blob(read.prompt), None if read.tools is None else blob(read.tools, read.tools_key), reason, word,
            usage.input, usage.output, usage.cache_read, usage.cache_write,
            None if usage.cost is None else str(usage.cost),
            None if failure is None else compact_json(failure), None,
            _sent(stream), stream.call_id,
        )
    )  # fmt: skip
    execution.staging.tell(
        events.llm_call_completed(call, reason, usage)
        if failure is None
        else events.llm_call_errored(call, failure, usage)
    )


def _sent(stream: OpenStream) -> str | None:
    if stream.sent is None:
        return None
    over = [list(each) for each in stream.passed_over]
    return compact_json({**stream.sent, "passed_over": over} if over else stream.sent)


def _end(
    execution: Execution, stream: OpenStream, status: str, usage: Usage, finish: FinishReason | None,
    error: AgentflowError | None,
) -> None:  # fmt: skip
    agent = execution.agent
    call = ModelCall(stream.call_id, execution.spent.iterations, stream.purpose, stream.model)
    read = Read(stream.prompt, agent.schemas_text if stream.with_tools else None, agent.schemas_hash)
    stage_end(execution, call, stream, read, status, usage, finish, error)
