"""Calls that are left open, whose results come from outside: questions, calls of the worker's and of the client's
tools (C20, C29, C33, C38).
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from agentflow.clock import NewId
from agentflow.conversation.pauses.awaited import AwaitedCall
from agentflow.conversation.repair import ASK_USER
from agentflow.message import ToolCall
from agentflow.models.assembly import RawCall, settle_calls
from agentflow.tools.arguments import checked_arguments
from agentflow.tools.calls import Prepared
from agentflow.tools.results import ToolResult, refused
from agentflow.turn.rules.decisions import Pause
from agentflow.turn.run.execution import Execution
from agentflow.turn.run.step import Step

_POLL_SECS = 0.25  # how often another process is asked whether it has settled the call


def identified(execution: Execution, raw_calls: Sequence[RawCall], new_id: NewId) -> tuple[ToolCall, ...]:
    """The calls of a reply, each under an id that no other call of this execution has (T14).

    A call that is answered from outside gets an id of ours: providers that number their calls afresh in each reply
    would have an answer that comes late meet another call.
    """
    taken = {raw.id for raw in raw_calls if raw.id and execution.transcript.has_call(raw.id)}
    answered_from_outside = {ASK_USER, *execution.agent.worker_tools, *execution.agent.client_tools}
    taken |= {raw.id for raw in raw_calls if raw.id and raw.name in answered_from_outside}
    return settle_calls(raw_calls, taken, new_id)


def left_to_client(execution: Execution, prepared: Prepared) -> Pause:
    """The call of a tool that the client performs: the turn pauses for its result (C38)."""
    changed = checked_arguments(prepared.call.arguments) != prepared.arguments
    call = AwaitedCall(prepared.call.id, prepared.call.name, prepared.arguments, changed)
    return Pause(call.id, (), execution.number, (call,))


async def settled(step: Step, execution: Execution, prepared: Prepared, given: dict[str, ToolResult]) -> ToolResult:
    """The result of an open call once it is given, or an error result when its time is over.

    It comes from outside by the store, or from a worker's decision about another call, which leaves it in `given`.
    """
    loop, seconds = asyncio.get_running_loop(), prepared.tool.timeout_secs
    call = execution.journal.session_key, execution.number, prepared.call.id
    ends = loop.time() + seconds if seconds else None
    while True:
        step.settled.clear()
        found = await step.store.settlement(*call)
        if found is not None:
            ok, text = found
            return ToolResult(ok, text, error_code=None if ok else "tool_failed")
        if prepared.call.id in given:  # what was acknowledged outside is kept, whatever is decided later (C34)
            return given.pop(prepared.call.id)
        wait = _POLL_SECS if ends is None else min(_POLL_SECS, ends - loop.time())
        if wait <= 0:
            late = refused(f"'{prepared.tool.name}' was not settled within {seconds:g} seconds", "timeout")
            ok, text = await step.store.give_up(*call, late.text) or (False, late.text)
            return ToolResult(True, text) if ok else replace(late, text=text)
        with suppress(TimeoutError):
            async with asyncio.timeout(wait):
                await step.settled.wait()
