"""`agentflow explain`: the next request of an agent and its parts, without a call."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..engine import engine_options, project_of, reading
from ..terminal.output import Output
from ..terminal.plain import block, one_line


@click.command("explain", short_help="Print the exact next request, without a call.")
@click.argument("agent")
@click.option("-s", "--session", metavar="ID", help="The session whose next request it is.")
@click.option("--input", "inputs", metavar="KEY=VALUE", multiple=True, help="An input the agent declares; repeatable.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@engine_options
@click.pass_obj
def command(
    output: Output,
    agent: str,
    session: str | None,
    inputs: tuple[str, ...],
    as_json: bool,
    project: Path,
    db: str | None,
) -> None:
    """Print what AGENT's model would read next: the sizes of its parts, how room would be made, then each message.

    The flow files of the project are imported, which runs them.
    """
    found = reading(
        project_of(agent, project),
        db,
        lambda runtime: runtime.explain(agent, session, inputs=runtime.read_inputs(agent, inputs)),
        trusted=True,  # its flows are imported
    )
    if as_json:
        output.json(found, indent=2)
    else:
        output.write(_text(found))


def _text(found: dict[str, Any]) -> str:
    sections = [*found["sections"], {"name": "all", "chars": found["chars"], "tokens": found["tokens"]}]
    lines = [
        f"{each['name']:<14} {each['chars']:>9} characters {each['tokens']:>8} tokens (estimate)" for each in sections
    ]
    names = ", ".join(tool["function"]["name"] for tool in found["tools"])
    lines += [_room(each) for each in found["room"]]
    if (damage := found["damage"]) is not None:
        lost, orphaned = len(damage["closed"]), len(damage["left_out"])
        lines.append(
            f"damaged: {lost} calls have no result and {orphaned} results no call; the next turn repairs it, "
            "as shown here"
        )
    lines += ["", f"model: {found['model']}", f"tools: {names or 'none'}", ""]
    for message in found["messages"]:
        lines += [f"[{message['role']}]", *_message(message), ""]
    return "\n".join(lines)


def _room(way: dict[str, Any]) -> str:
    """What one way of making room would do, as `strategy[0]: summarize above 184000 tokens, ...`."""
    when = [f"above {way['threshold']} tokens"] if way["threshold"] is not None else []
    when += [f"after {way['idle_secs']:g} idle seconds"] if way["idle_secs"] is not None else []
    cut = f"would cut {way['summarized']} messages and keep {way['kept']}" if way["summarized"] else "nothing to cut"
    due = "due now" if way["due"] else "not due" if way["threshold"] is None else f"now {way['tokens']}"
    return f"{way['by']}: {way['use']} {' and '.join(when) or 'when a call is refused'} ({due}), {cut}"


def _message(message: dict[str, Any]) -> list[str]:
    content = message.get("content")
    lines = [] if not content else [content if isinstance(content, str) else str(content)]
    calls = [call["function"] for call in message.get("tool_calls", ())]
    lines += [f"{one_line(call['name'])}({call['arguments']})" for call in calls]
    return [f"  {block(line)}" for line in lines]
