"""One turn from submit to exit code, with its signals and its notes."""

from __future__ import annotations

import asyncio
import shlex
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from .exits import of_turn
from .interrupts import Interrupts
from .output import note
from .views import Answer

if TYPE_CHECKING:
    from agentflow import Receipt, Runtime, TurnResult


@dataclass(frozen=True)
class Request:
    """What the command line asks for. `session` null means a new one or, with `resume`, the agent's newest."""

    agent: str
    text: str
    session: str | None
    resume: bool
    inputs: dict[str, str]
    limits: dict[str, Any]


async def run_turn(runtime: Runtime, request: Request, view: Answer) -> int:
    """Runs the turn, shows it and returns the exit code. Raises what `submit` raises."""
    session = await _session(runtime, request)
    receipt = await runtime.submit(session, _input(request), limits=request.limits)
    async with Interrupts(lambda: runtime.stop(session, receipt.turn_id)) as interrupts:
        result = await _follow(runtime, receipt, view)
    view.end(result)
    _tell(request, result)
    return interrupts.exit_code or of_turn(result.state, result.error["code"] if result.error else None)


async def _session(runtime: Runtime, request: Request) -> str:
    if not request.resume:
        return request.session or str(uuid4())
    newest = await runtime.sessions(limit=1, agent=request.agent)
    if not newest:
        from agentflow import SessionNotFound

        raise SessionNotFound(f"{request.agent} has no session to continue yet: leave out --continue to start one")
    session: str = newest[0]["session_id"]
    return session


def _input(request: Request) -> dict[str, Any]:
    return {
        "type": "client.message",
        "agent_id": request.agent,
        "message": {"role": "user", "content": request.text},
        "inputs": request.inputs,
    }


async def _follow(runtime: Runtime, receipt: Receipt, view: Answer) -> TurnResult:
    ended = asyncio.create_task(runtime.result(receipt.session_id, receipt.turn_id))
    try:
        async for event in runtime.events(receipt.session_id, receipt.after_seq, receipt.turn_id):
            view.event(event)
        return await ended
    finally:
        ended.cancel()


def _tell(request: Request, result: TurnResult) -> None:
    """On standard error: what a person must know beside the answer, and how to go on."""
    if result.scripted:
        note("note: the replies come from a script (a demonstration, no language model answered)")
    if result.limit:
        note(f"note: the turn ended at its limit {result.limit}")
    if result.error:
        note(f"error ({result.error['code']}): {result.error['message']}")
    if result.question:
        note(f"{result.question['text']}\nanswer with: {_again(request, result.session_id)}")
    elif result.aborted:
        note(f"stopped; what was said is kept. Continue with: {_again(request, result.session_id)}")
    elif request.session is None and not request.resume and sys.stderr.isatty():
        note(f"continue with: {_again(request, result.session_id)}")


def _again(request: Request, session: str) -> str:
    return shlex.join(["agentflow", "run", request.agent, "-s", session]) + " TEXT"
