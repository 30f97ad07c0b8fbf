"""One turn from submit to exit code, with its signals, its questions and its notes."""

from __future__ import annotations

import asyncio
import json
import shlex
import sys
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from ..exits import of_turn
from ..terminal.asking import NoAnswer, ask, can_ask
from ..terminal.interrupts import Interrupts
from ..terminal.output import note
from ..terminal.status import Status
from ..terminal.views import Answer
from ..terminal.waiting import tell_waiting

if TYPE_CHECKING:
    from agentflow import Receipt, Runtime, TurnResult


@dataclass(frozen=True)
class Request:
    """What the command line asks for. `session` null means a new one or, with `resume`, the agent's newest.

    `place` are the options that name project and database, for the commands that are printed. `fork` is a message of
    the session that the content follows, `queue` "true" or "merge".
    """

    agent: str
    content: str | list[dict[str, Any]]
    session: str | None
    resume: bool
    inputs: tuple[str, ...]
    limits: dict[str, Any]
    place: tuple[str, ...] = ()
    fork: str | None = None
    queue: str | None = None
    interrupt: bool = False


async def run_turn(runtime: Runtime, request: Request, view: Answer) -> int:
    """Runs the turn, shows it and returns the exit code. Raises what `submit` raises."""
    new = request.session is None and not request.resume
    async with Interrupts() as interrupts:
        session = await _session(runtime, request)
        given = await _input(runtime, session, request)
        receipt = await runtime.submit(session, given, agent=request.agent, limits=request.limits)
        if new and not can_ask() and not view.output.quiet:
            note(f"session: {session}", "note")
        again = ["agentflow", "run", request.agent, "-s", session, *request.place]
        return await follow_turn(runtime, receipt, view, Hints(again, request.place, tell=new), interrupts)


@dataclass(frozen=True)
class Hints:
    """How to go on: the command that says more in this session, and whether its name has to be `tell`-ed anyway."""

    again: list[str]
    place: tuple[str, ...]
    tell: bool = False


async def follow_turn(runtime: Runtime, receipt: Receipt, view: Answer, hints: Hints, interrupts: Interrupts) -> int:
    """Shows a turn to its end, asks what it asks where somebody can answer, and closes the runtime; the exit code."""
    interrupts.ends_by(partial(runtime.stop, receipt.session_id, receipt.turn_id), partial(_leave, runtime, receipt))
    result = await _follow(runtime, receipt, view)
    while result.question is not None and interrupts.exit_code is None and can_ask():
        view.pause()
        try:
            answers = await ask(result.question["questions"], interrupts)
        except NoAnswer:
            note("")
            break
        call_id = result.question["tool_call_id"]
        receipt = await runtime.answer(receipt.session_id, tool_call_id=call_id, answers=answers)
        result = await _follow(runtime, receipt, view)
    await interrupts.settled()
    if interrupts.exit_code is not None and result.pending_kind is not None:
        result = await runtime.result(receipt.session_id, receipt.turn_id)
    code = interrupts.exit_code or of_turn(result.state, result.error["code"] if result.error else None)
    interrupts.has_result(runtime)
    view.end(result)
    _tell(result, hints)
    await tell_waiting(runtime, result.session_id, hints.place)
    await runtime.close()
    return code


async def _leave(runtime: Runtime, receipt: Receipt) -> None:
    """Gives up what runs here, and takes back the turn that has not begun: nobody would hear of it."""
    await runtime.end_turns()
    if any(each["turn_id"] == receipt.turn_id for each in (await runtime.status(receipt.session_id))["queue"]):
        await runtime.stop(receipt.session_id, receipt.turn_id)


async def _session(runtime: Runtime, request: Request) -> str:
    if not request.resume:
        return request.session or str(uuid4())
    newest = await runtime.sessions(limit=1, agent=request.agent)
    if not newest:
        from agentflow import SessionNotFound

        raise SessionNotFound(f"{request.agent} has no session to continue yet: leave out --continue to start one")
    session: str = newest[0]["session_id"]
    return session


async def _input(runtime: Runtime, session: str, request: Request) -> dict[str, Any]:
    message = {"role": "user", "content": request.content}
    inputs = runtime.read_inputs(request.agent, request.inputs)
    given = {"inputs": inputs, "interrupt": request.interrupt}
    if request.fork is not None:
        view = [await _node(runtime, session, request.fork), message]
        return {"type": "client.messages", "messages": view, **given}
    queue = {"true": True, "merge": "merge"}.get(request.queue or "", False)
    return {"type": "client.message", "message": message, "queue": queue, **given}


async def _node(runtime: Runtime, session: str, message_id: str) -> dict[str, Any]:
    """The message of the session's tree that a view may end in."""
    for node in (await runtime.tree(session))["nodes"]:
        if node["message"]["id"] == message_id:
            message: dict[str, Any] = node["message"]
            return message
    from agentflow import MessageNotFound

    raise MessageNotFound(f"Session {session!r} has no message {message_id!r}; `agentflow sessions tree` lists them.")


async def _follow(runtime: Runtime, receipt: Receipt, view: Answer) -> TurnResult:
    ended = asyncio.create_task(runtime.result(receipt.session_id, receipt.turn_id))
    try:
        async with Status(view.break_line, streams=view.streams, quiet=view.output.quiet) as status:
            async for event in runtime.events(receipt.session_id, receipt.after_seq, receipt.turn_id):
                view.event(event)
                status.event(event)
        return await ended
    finally:
        ended.cancel()


def _tell(result: TurnResult, hints: Hints) -> None:
    """On standard error: what a person must know beside the answer, and how to go on."""
    again = f"{shlex.join(hints.again)} TEXT"
    if result.scripted:
        note("note: the replies come from a script (a demonstration, no language model answered)", "note")
    if result.truncated:
        note("note: the answer was cut at the model's output limit (max_output_tokens)", "note")
    if result.limit:
        note(f"note: the turn ended at its limit {result.limit}", "note")
    if result.error:
        note(f"error ({result.error['code']}): {result.error['message']}", "error")
    if result.question:
        note(result.question["text"])
        note(f"answer with: {answer_command(result, hints.place)}")
    elif result.calls:
        asked = [f"{call['name']} {json.dumps(call['arguments'], ensure_ascii=False)}" for call in result.calls]
        for line in ["the turn waits for its client, which performs:", *asked]:
            note(line)
        for command in tool_commands(result, hints.place):
            note(f"go on with: {command}")
    elif result.aborted:
        note(f"stopped; what was said is kept. Continue with: {again}")
    elif hints.tell and sys.stderr.isatty():
        note(f"continue with: {again}", "next")


def answer_command(result: TurnResult, place: tuple[str, ...]) -> str:
    """The exact command that answers a question: with a choice where there are options, else with a text."""
    questions = result.question["questions"] if result.question else []
    command = shlex.join(["agentflow", "answer", result.session_id, *place])
    if not any(question["options"] for question in questions):
        return f"{command} TEXT"
    choices = [f"{question['header']}={_first_choice(question)}" for question in questions]
    return " ".join([command, *(f"--choice {shlex.quote(choice)}" for choice in choices)])


def tool_commands(result: TurnResult, place: tuple[str, ...]) -> list[str]:
    """The exact commands that give the results which a turn waits for."""
    answer = ["agentflow", "answer", result.session_id, *place]
    return [f"{shlex.join([*answer, '--tool', call['tool_call_id']])} JSON" for call in result.calls]


def _first_choice(question: dict[str, Any]) -> str:
    options = question["options"]
    return str(options[0]["label"]) if options else "TEXT"
