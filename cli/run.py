"""`agentflow run`: one turn of one agent."""

from __future__ import annotations

import asyncio
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import click

from .engine import engine_options, with_runtime
from .exits import of_turn
from .output import Output, note
from .stdin import turn_text
from .views import Answer, view_of

if TYPE_CHECKING:
    from agentflow import Runtime, TurnResult

    from .interrupts import Interrupts


@dataclass(frozen=True)
class Request:
    """What the command line asks for. `session` null means a new one or, with `resume`, the agent's newest."""

    agent: str
    text: str
    session: str | None
    resume: bool
    inputs: dict[str, str]
    limits: dict[str, Any]


@click.command("run", short_help="Run one turn of an agent.")
@click.argument("agent")
@click.argument("text", required=False)
@click.option("-s", "--session", metavar="ID", help="Session to continue, or to start under this id.")
@click.option("-c", "--continue", "resume", is_flag=True, help="Continue the agent's newest session.")
@click.option("--input", "inputs", metavar="KEY=VALUE", multiple=True, help="An input the agent declares; repeatable.")
@click.option("--json", "form", flag_value="json", help="Print the result as one JSON object.")
@click.option("--jsonl", "form", flag_value="jsonl", help="Print the events as JSON lines, the result last.")
@click.option("--max-iterations", type=click.IntRange(min=0), help="Model calls in this turn; 0 for no limit.")
@click.option("--max-cost", metavar="USD", type=click.FloatRange(min=0), help="Cost of this turn; 0 for no limit.")
@click.option("--timeout", metavar="SECONDS", type=click.FloatRange(min=0), help="Time for this turn; 0 for no limit.")
@engine_options
@click.pass_obj
def command(
    output: Output,
    agent: str,
    text: str | None,
    session: str | None,
    resume: bool,
    inputs: tuple[str, ...],
    form: str | None,
    max_iterations: int | None,
    max_cost: float | None,
    timeout: float | None,
    project: Path,
    db: str | None,
) -> int:
    """Run one turn of AGENT (a path or a name) on TEXT, standard input, or both (standard input first)."""
    if session is not None and resume:
        raise click.UsageError("--session names a session and --continue finds one: give one of them")
    limits = {"max_iterations": max_iterations, "max_cost": max_cost, "turn_timeout_secs": timeout}
    request = Request(
        agent,
        _required(turn_text(text)),
        session,
        resume,
        dict(_pair(value) for value in inputs),
        {name: value for name, value in limits.items() if value is not None},
    )
    view = view_of(form, output)
    return with_runtime(project, db, lambda runtime: _run(runtime, request, view))


def _required(text: str) -> str:
    if not text.strip():
        raise click.UsageError("there is nothing to say: give TEXT or pipe it into standard input")
    return text


def _pair(value: str) -> tuple[str, str]:
    key, equals, text = value.partition("=")
    if not key or not equals:
        raise click.UsageError(f"--input {value!r} is not KEY=VALUE")
    return key, text


async def _run(runtime: Runtime, request: Request, view: Answer) -> int:
    from .interrupts import Interrupts

    session = await _session(runtime, request)
    with Interrupts() as interrupts:
        result = await _turn(runtime, session, request, view, interrupts)
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


async def _turn(
    runtime: Runtime, session: str, request: Request, view: Answer, interrupts: Interrupts
) -> TurnResult:
    message = {"type": "client.message", "agent_id": request.agent, "message": {"role": "user", "content": request.text}}
    receipt = await runtime.submit(session, message, inputs=request.inputs, limits=request.limits)
    stopper = asyncio.create_task(_stop_on_signal(runtime, session, receipt.turn_id, interrupts))
    try:
        async for event in runtime.events(session, receipt.after_seq, receipt.turn_id):
            view.event(event)
    finally:
        stopper.cancel()
    return await runtime.result(session, receipt.turn_id)


async def _stop_on_signal(runtime: Runtime, session: str, turn: str, interrupts: Interrupts) -> None:
    await interrupts.wait()
    await runtime.stop(session, turn)


def _tell(request: Request, result: TurnResult) -> None:
    """On standard error: what a person must know beside the answer, and how to go on."""
    again = shlex.join(["agentflow", "run", request.agent, "-s", result.session_id])
    if result.scripted:
        note("note: the replies come from a script (a demonstration, no language model answered)")
    if result.limit:
        note(f"note: the turn ended at its limit {result.limit}")
    if result.error:
        note(f"error ({result.error['code']}): {result.error['message']}")
    if result.question:
        note(f"{result.question['text']}\nanswer with: {again} 'your answer'")
    elif result.aborted:
        note(f"stopped; what was said is kept. Continue with: {again} 'your text'")
    elif request.session is None and not request.resume and sys.stderr.isatty():
        note(f"continue with: {again} 'your text'")
