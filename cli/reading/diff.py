"""`agentflow diff`: what two turns sent to their models, side by side."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from ..engine import engine_options, reading
from ..terminal.output import Output
from ..terminal.plain import block, one_line

_SECTIONS = ("configuration", "prompt", "tools", "history", "model")
_WIDEST = 300


@click.command("diff", short_help="Compare the exact requests of two turns.")
@click.argument("a", metavar="TURN")
@click.argument("b", metavar="TURN")
@click.option("-s", "--session", metavar="ID", help="The session of a TURN that names none.")
@click.option(
    "--call", metavar="N", type=click.IntRange(min=1), help="Model call to show.  [default: the first to differ]"
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@engine_options
@click.pass_obj
def command(
    output: Output, a: str, b: str, session: str | None, call: int | None, as_json: bool, project: Path, db: str | None
) -> None:
    """Compare what two turns sent to their models, as branches, regenerations or two sessions have it.

    A TURN is a number or an id, of --session, or SESSION:TURN; the second one may leave out the session of the first.
    Calls are paired by their order. The first thing that differs stands on top.
    """
    first = _turn(a, session)
    second = _turn(b, session or first[0])
    found = reading(project, db, lambda runtime: runtime.records.diff(first, second, call=call))
    if as_json:
        output.json(found, indent=2)
    else:
        output.write("".join(f"{line}\n" for line in _text(found)))


def _turn(given: str, session: str | None) -> tuple[str, int | str]:
    named, colon, turn = given.rpartition(":")
    session = named if colon else session
    if not session or not turn:
        raise click.UsageError(f"{given!r} names no session: write SESSION:TURN, or give --session")
    return session, int(turn) if turn.isdecimal() else turn


def _text(found: Mapping[str, Any]) -> Iterator[str]:
    names = {side: one_line(f"{found[side]['session_id']}:{found[side]['turn']}") for side in ("a", "b")}
    yield f"- {names['a']}, {found['a']['calls']} model calls"
    yield f"+ {names['b']}, {found['b']['calls']} model calls"
    for number, first in enumerate(found["calls"], 1):
        alone = {"only a": f"only in {names['a']}", "only b": f"only in {names['b']}", None: "the same"}
        yield f"call {number}: {alone.get(first, f'differs first in {first}')}"
    if found["call"] is None:
        return
    differ = [name for name in _SECTIONS if found[name]]
    same = [name for name in _SECTIONS if not found[name]]
    for name in differ:
        yield ""
        yield f"{name} of call {found['call']}"
        yield from _SHOWN[name](found[name])
    if differ and same:
        yield ""
        yield f"the same: {', '.join(same)}"


def _changes(changes: list[dict[str, Any]]) -> Iterator[str]:
    for each in changes:
        yield f"  {one_line(each['key'])}"
        for sign, side in (("-", "a"), ("+", "b")):
            if each[side] is not None:
                yield f"{sign}   {_short(json.dumps(each[side], ensure_ascii=False))}"


def _prompt(lines: list[str]) -> Iterator[str]:
    for line in lines:
        yield f"{line[:1]} {_short(line[1:])}" if line != "..." else "  ..."


def _history(blocks: list[dict[str, Any]]) -> Iterator[str]:
    for each in blocks:
        if "same" in each:
            yield f"  ... {each['same']} the same"
            continue
        for sign, side in (("-", "a"), ("+", "b")):
            for message in each[side]:
                yield f"{sign} [{message['role']}] {_short(_said(message))}"


def _said(message: Mapping[str, Any]) -> str:
    calls = [f"{call['function']['name']}({call['function']['arguments']})" for call in message.get("tool_calls", ())]
    content = message.get("content") or ""
    return " ".join([content if isinstance(content, str) else json.dumps(content, ensure_ascii=False), *calls]).strip()


def _short(text: str) -> str:
    line = one_line(block(text))
    return line if len(line) <= _WIDEST else f"{line[:_WIDEST]}... ({len(line):,} characters)"


_SHOWN: Mapping[str, Callable[[Any], Iterator[str]]] = {
    "configuration": _changes,
    "prompt": _prompt,
    "tools": _changes,
    "history": _history,
    "model": _changes,
}
