"""`agentflow sessions show`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from ..engine import engine_options, reading
from ..terminal.output import Output, note
from ..terminal.plain import block, one_line

_RESULT_CHARS = 500
_DEEPER = "    "


@click.command("show", short_help="Print a session's transcript.")
@click.argument("session")
@click.option("--all", "whole", is_flag=True, help="With what a compaction left out, in place of its summary.")
@click.option("--json", "as_json", is_flag=True, help="Print the session as one JSON object.")
@engine_options
@click.pass_obj
def command(output: Output, session: str, whole: bool, as_json: bool, project: Path, db: str | None) -> None:
    """Print the transcript of SESSION: the path of messages that the model reads."""
    found = reading(project, db, lambda runtime: runtime.session(session, all=whole))
    if as_json:
        output.json(found, indent=2)
    else:
        output.write("\n".join(transcript(found["messages"])))
        if found["summary_id"] is not None and not whole:
            note("the messages before the summary are shown with --all")


def transcript(messages: list[dict[str, Any]]) -> Iterator[str]:
    """One block of text for each message that is meant to be seen, ended by a line end.

    Only its first line begins at a place where ours begin: a text cannot say what another one said (Z5).
    """
    for message in messages:
        if not message.get("hidden"):
            yield "".join(f"{line}\n" for line in _lines(message))


def _lines(message: dict[str, Any]) -> Iterator[str]:
    text = _text(message["content"])
    if message["role"] == "tool":
        shortened = text if len(text) <= _RESULT_CHARS else f"{text[:_RESULT_CHARS]}…"
        yield f"  {one_line(message.get('name', 'tool'))} = {block(shortened, _DEEPER)}"
        return
    if text:
        yield f"{message['role']}: {block(text, _DEEPER)}"
    for call in message.get("tool_calls", ()):
        yield f"  {one_line(call['name'])}({block(call['arguments'], _DEEPER)})"


def _text(content: str | list[dict[str, Any]] | None) -> str:
    """A message's text; of a file what it is."""
    if content is None or isinstance(content, str):
        return content or ""
    from agentflow import part_text

    return "\n".join(map(part_text, content))
