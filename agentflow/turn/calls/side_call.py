"""A model call beside the loop, such as the planner's: recorded and counted, but not part of the conversation.

Its text is not streamed, its reply is no message, and it never feeds the count of what the model reads (X5).
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from agentflow import clock, events
from agentflow.conversation.history import BuiltRequest
from agentflow.errors import AgentflowError
from agentflow.live.event_feed import Feed
from agentflow.message import Purpose, Usage
from agentflow.models.assembly import Reply
from agentflow.models.protocol import Model, ModelRequest
from agentflow.store import rows
from agentflow.text import compact_json
from agentflow.turn.calls.model_stream import stream_reply
from agentflow.turn.run.execution import Execution
from agentflow.turn.run.in_flight import OpenStream
from agentflow.turn.run.step import Step


@dataclass(frozen=True, slots=True)
class SideCall:
    """What is asked of which model. `prompt` is the system prompt of `request`, `tools_text` its tools as JSON."""

    id: str
    purpose: Purpose
    model: Model
    request: BuiltRequest
    prompt: str
    tools: Sequence[dict[str, Any]] = ()
    tools_text: str = ""


async def ask_aside(step: Step, execution: Execution, call: SideCall) -> Reply:
    """Commit the call as requested, make it, and stage its end; the next commit takes that along (T11).

    Raises `ModelError` and `Interrupted`; the end is staged then too, with the usage that was reported (X6).
    """
    journal, settings = execution.journal, execution.agent.config.settings
    _request(execution, call)
    await execution.commit()
    started = asyncio.get_running_loop().time()
    stream = OpenStream(call.id, call.purpose, call.request.chars, started, bool(call.tools))
    request = ModelRequest(
        call.id, call.purpose, call.request.messages, call.tools, call.request.chars, journal.session_id, journal.turn
    )
    try:
        with step.interrupt.window():
            reply = await stream_reply(
                call.model, request, stream, Feed(journal.session_id), journal.turn_id, _no_checkpoint,
                timeout_secs=settings.llm_timeout_secs, retries=settings.llm_retries,
            )  # fmt: skip
    except AgentflowError as error:
        _end(execution, call, stream, "errored", None, error)
        raise
    except BaseException:
        _end(execution, call, stream, "aborted", None, AgentflowError("The call was given up: the turn has ended."))
        raise
    _end(execution, call, stream, "completed", reply.finish_reason, None)
    return reply


async def _no_checkpoint(text: str) -> None:
    """Nobody has seen the text, so none of it is worth keeping."""


def _request(execution: Execution, call: SideCall) -> None:
    journal = execution.journal
    head = execution.tip or (None, None)
    execution.stage(
        rows.InsertLlmCall(
            call.id, journal.turn, execution.number, journal.step, execution.spent.iterations, call.purpose,
            call.model.name, "requested", clock.instant(), *head,
        )
    )  # fmt: skip
    execution.tell(events.llm_call_requested(_told(execution, call)))


def _end(
    execution: Execution, call: SideCall, stream: OpenStream, status: str, finish: str | None,
    error: AgentflowError | None,
) -> None:  # fmt: skip
    usage = stream.assembler.usage or Usage()
    execution.spend(usage)
    execution.stage(
        rows.EndLlmCall(
            status, stream.milliseconds(), stream.first_token_ms, stream.attempts, stream.request_chars,
            execution.blob(call.prompt), execution.blob(call.tools_text) if call.tools else None, finish, usage.input,
            usage.output, usage.cache_read, usage.cache_write, None if usage.cost is None else str(usage.cost),
            None if error is None else compact_json(error.as_dict()), None, call.id,
        )
    )  # fmt: skip
    told = _told(execution, call)
    execution.tell(
        events.llm_call_completed(told, finish, usage)
        if error is None
        else events.llm_call_errored(told, error.as_dict(), usage)
    )


def _told(execution: Execution, call: SideCall) -> events.ModelCall:
    return events.ModelCall(call.id, execution.spent.iterations, call.purpose, call.model.name)
