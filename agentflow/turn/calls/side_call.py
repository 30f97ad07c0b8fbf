"""A model call beside the loop, such as the planner's: recorded and counted, but not part of the conversation.

Its text is not streamed, unless a worker wants that of a summary to be, its reply is no message, and it never feeds
the count of what the model reads (X5).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from agentflow.conversation.history import BuiltRequest
from agentflow.errors import AgentflowError, ModelError
from agentflow.events import ModelCall
from agentflow.live.event_feed import Feed
from agentflow.message import Purpose, Usage
from agentflow.models.assembly import Reply
from agentflow.models.fallback.candidates import Candidates, PassedOver
from agentflow.models.fallback.fitting import Need
from agentflow.models.protocol import Model, ModelRequest
from agentflow.turn.calls import sent_request
from agentflow.turn.calls.model_stream import stream_reply
from agentflow.turn.calls.sent_files import files_of
from agentflow.turn.run import model_calls
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
    streamed: bool = False


class SideCallFailed(Exception):
    """No candidate gave a reply: `error` is what it came to, `call_id` the last call."""

    def __init__(self, call_id: str, error: ModelError) -> None:
        super().__init__(str(error))
        self.call_id, self.error = call_id, error


async def ask_aside(
    step: Step, execution: Execution, candidates: Candidates, need: Need, make: Callable[[Model], SideCall]
) -> tuple[SideCall, Reply]:
    """The reply of the first of `candidates` that gives one, and the call it answers, which `make` made (W5).

    Each call is committed as requested and made; the next commit takes its end along (T11). Raises `SideCallFailed`
    and `Interrupted`; the end is staged then too, with the usage that was reported (X6).
    """
    now = asyncio.get_running_loop().time
    asked = candidates.asked(need, now())
    passed_over: Sequence[PassedOver] = asked.passed_over
    for model in asked:
        call = make(model)
        stream = _stream(execution, call, passed_over)
        try:
            retries = asked.retries(execution.agent.config.settings.llm_retries)
            return call, await _ask(step, execution, call, stream, retries)
        except ModelError as error:
            failure, passed_over = asked.failed(error, now(), shown=stream.has_shown), ()
            if failure is not None:
                raise SideCallFailed(call.id, failure) from None
    raise RuntimeError("nobody was asked")


def _stream(execution: Execution, call: SideCall, passed_over: Sequence[PassedOver]) -> OpenStream:
    sent = sent_request.whole(execution, call.model, call.request.messages)
    return OpenStream(
        call.id, call.purpose, call.model.name, call.prompt, call.request.chars, asyncio.get_running_loop().time(),
        bool(call.tools), call.streamed, {"purpose": call.purpose}, sent, passed_over,
    )  # fmt: skip


async def _ask(step: Step, execution: Execution, call: SideCall, stream: OpenStream, retries: int) -> Reply:
    journal, settings = execution.journal, execution.agent.config.settings
    feed = journal.feed if call.streamed else Feed(journal.session_id)
    told = ModelCall(call.id, execution.spent.iterations, call.purpose, call.model.name)
    model_calls.stage_request(execution, told)
    await execution.commit()
    stream.started = asyncio.get_running_loop().time()
    request = ModelRequest(
        call.id, call.purpose, call.request.messages, call.tools, call.request.chars, journal.session_id, journal.turn
    )
    files = await files_of(step.store, journal.session_key, call.request.messages, call.model.name)
    read = model_calls.Read(call.prompt, call.tools_text if call.tools else None)
    ended = partial(model_calls.stage_end, execution, told, stream, read)
    try:
        with step.interrupt.window():
            reply = await stream_reply(
                call.model, request, stream, feed, journal.turn_id, _no_checkpoint,
                timeout_secs=settings.llm_timeout_secs, retries=retries, files=files,
            )  # fmt: skip
    except BaseException as error:
        lost = AgentflowError("The call was given up: the turn has ended.")
        status, why = ("errored", error) if isinstance(error, AgentflowError) else ("aborted", lost)
        ended(status, stream.assembler.usage or Usage(), None, why)
        raise
    ended("completed", reply.usage or Usage(), reply.finish, None)
    return reply


async def _no_checkpoint(text: str) -> None:
    """The text is no answer, so none of it is worth keeping."""
