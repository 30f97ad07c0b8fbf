"""A model call beside the loop, such as the planner's: recorded and counted, but not part of the conversation.

Its text is not streamed, unless a worker wants that of a summary to be, its reply is no message, and it never feeds
the count of what the model reads (X5).
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from agentflow.conversation.history import BuiltRequest
from agentflow.errors import AgentflowError
from agentflow.events import ModelCall
from agentflow.live.event_feed import Feed
from agentflow.message import Purpose, Usage
from agentflow.models.assembly import Reply
from agentflow.models.protocol import Model, ModelRequest
from agentflow.turn.calls import sent_request
from agentflow.turn.calls.model_stream import stream_reply
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


async def ask_aside(step: Step, execution: Execution, call: SideCall) -> Reply:
    """Commit the call as requested, make it, and stage its end; the next commit takes that along (T11).

    Raises `ModelError` and `Interrupted`; the end is staged then too, with the usage that was reported (X6).
    """
    journal, settings = execution.journal, execution.agent.config.settings
    feed = journal.feed if call.streamed else Feed(journal.session_id)
    told = ModelCall(call.id, execution.spent.iterations, call.purpose, call.model.name)
    model_calls.stage_request(execution, told)
    await execution.commit()
    started = asyncio.get_running_loop().time()
    stream = OpenStream(
        call.id, call.purpose, call.model.name, call.prompt, call.request.chars, started, bool(call.tools),
        call.streamed, {"purpose": call.purpose}, sent_request.whole(execution, call.model, call.request.messages),
    )  # fmt: skip
    request = ModelRequest(
        call.id, call.purpose, call.request.messages, call.tools, call.request.chars, journal.session_id, journal.turn
    )
    read = model_calls.Read(call.prompt, call.tools_text if call.tools else None)
    ended = partial(model_calls.stage_end, execution, told, stream, read)
    try:
        with step.interrupt.window():
            reply = await stream_reply(
                call.model, request, stream, feed, journal.turn_id, _no_checkpoint,
                timeout_secs=settings.llm_timeout_secs, retries=settings.llm_retries,
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
