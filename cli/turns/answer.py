"""`agentflow answer`: the answer to a pending question or the result of an open call, and the rest of its turn."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..engine import engine_options, following_options, models_of, place, recording_options, with_runtime
from ..terminal.output import Output, note
from ..terminal.stdin import one_text, turn_text
from ..terminal.views import Answer, view_of

if TYPE_CHECKING:
    from agentflow import Runtime

Choices = dict[str, list[str]]

_NOT_TAKEN = {
    "replayed": "was there already",
    "ignored": "is ignored: its turn was stopped, or the conversation has gone on elsewhere",
}


@click.command("answer", short_help="Answer a session's pending question.")
@click.argument("session")
@click.argument("text", metavar="[TEXT]", nargs=-1, callback=one_text)
@click.option("--tool", "call", metavar="CALL", help="TEXT is the result, as JSON, of this call that is left open.")
@click.option("--choice", "choices", metavar="HEADER=LABEL", multiple=True, help="An answer by header; repeatable.")
@click.option("--json", "form", flag_value="json", help="Print the result as one JSON object.")
@click.option("--jsonl", "form", flag_value="jsonl", help="Print the events as JSON lines, the result last.")
@recording_options
@following_options
@engine_options
@click.pass_obj
def command(
    output: Output,
    session: str,
    text: str | None,
    call: str | None,
    choices: tuple[str, ...],
    form: str | None,
    record: Path | None,
    replay: Path | None,
    project: Path,
    db: str | None,
) -> int:
    """Answer the question SESSION waits for, and run its turn on.

    TEXT, or standard input, answers the first question that no --choice answers. With --tool it is the result of a
    call that the client or a worker performs, as JSON; the turn goes on once all of them are there.
    """
    models, view, where = models_of(record, replay), view_of(form, output), place(project, db)
    if call is not None:
        result = _result(text, choices)
        return with_runtime(project, db, lambda runtime: _settle(runtime, session, call, result, view, where), models)
    said = text if choices else turn_text(text)
    if not choices and said is None:
        raise click.UsageError("there is no answer: give --choice HEADER=LABEL, TEXT, or pipe it into standard input")
    picked = _by_header(choices)
    return with_runtime(project, db, lambda runtime: _answer(runtime, session, picked, said, view, where), models)


async def _answer(
    runtime: Runtime, session: str, choices: Choices, text: str | None, view: Answer, where: tuple[str, ...]
) -> int:
    from ..terminal.interrupts import Interrupts
    from .follow import Hints, follow_turn

    async with Interrupts() as interrupts:
        status = await runtime.status(session)
        if choices:
            answers: dict[str, Any] = dict(choices)
            if text is not None:
                answers[_first_left(status["questions"] or [], choices)] = text
            receipt = await runtime.answer(session, tool_call_id=status["tool_call_id"], answers=answers)
        else:
            receipt = await runtime.answer(session, text=text)
        hints = Hints(["agentflow", "run", status["agent_id"], "-s", session, *where], where)
        return await follow_turn(runtime, receipt, view, hints, interrupts)


def _result(text: str | None, choices: tuple[str, ...]) -> Any:
    if choices:
        raise click.UsageError("--tool gives a result and --choice an answer: give one of them")
    said = turn_text(text)
    if said is None:
        raise click.UsageError("there is no result: give it as JSON, or pipe it into standard input")
    from agentflow import read_json

    try:
        return read_json(said)
    except ValueError as error:
        raise click.UsageError(f"the result is not JSON: {error}") from None


async def _settle(runtime: Runtime, session: str, call: str, result: Any, view: Answer, where: tuple[str, ...]) -> int:
    """Gives the result, and follows the turn from its next step on."""
    from agentflow import Receipt

    from ..terminal.interrupts import Interrupts
    from .follow import Hints, follow_turn

    async with Interrupts() as interrupts:
        status, seq = await runtime.status(session), 0
        async for event in runtime.events(session):
            seq = event.seq or seq
        settled = await runtime.settle(session, call, result=result)
        if settled["outcome"] != "settled":
            note(f"the result of {call} {_NOT_TAKEN[settled['outcome']]}")
        hints = Hints(["agentflow", "run", status["agent_id"], "-s", session, *where], where)
        receipt = Receipt(session, settled["turn_id"], False, settled["outcome"] != "settled", seq)
        return await follow_turn(runtime, receipt, view, hints, interrupts)


def _by_header(given: tuple[str, ...]) -> Choices:
    choices: Choices = {}
    for choice in given:
        header, equals, label = choice.partition("=")
        if not header or not equals:
            raise click.UsageError(f"--choice {choice!r} is not HEADER=LABEL")
        choices.setdefault(header, []).append(label)
    return choices


def _first_left(questions: list[dict[str, Any]], choices: Choices) -> str:
    for question in questions:
        if question["header"] not in choices:
            return str(question["header"])
    raise click.UsageError("every question has its --choice already: leave out TEXT")
