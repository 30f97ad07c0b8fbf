"""`agentflow doctor`: what keeps agentflow from working here, and what mends it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..engine import engine_options
from ..exits import Exit
from ..terminal.output import Output, note

if TYPE_CHECKING:
    from agentflow import Check


@click.command("doctor", short_help="Find what keeps agentflow from working here.")
@click.option("--connect", is_flag=True, help="Also ask each model for a word; this calls models.")
@click.option(
    "--port",
    metavar="N",
    type=click.IntRange(1, 65535),
    default=8080,
    help="The port that a server would take.  [default: 8080]",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@engine_options
@click.pass_obj
def command(output: Output, connect: bool, port: int, as_json: bool, project: Path, db: str | None) -> int:
    """Look at Python, the libraries, the project's agents, the keys they need, the database and a port.

    Nothing is changed. What failed names what mends it, and gives exit code 1; warnings do not.
    """
    import asyncio

    from agentflow import diagnose, own_process

    own_process()
    found = asyncio.run(diagnose(project, db=db, connect=connect, port=port))
    failed = sum(each.state == "failed" for each in found)
    if as_json:
        output.json({"ok": not failed, "checks": [each.as_dict() for each in found]}, indent=2)
    else:
        output.write(_table(found))
    note(f"{len(found)} checked, {failed} failed")
    return Exit.FAILED if failed else Exit.DONE


def _table(found: Sequence[Check]) -> str:
    lines = []
    for each in found:
        lines.append(f"{each.state:<8} {each.name:<11} {each.said}\n")
        if each.fix is not None:
            lines.append(f"{'':<20} -> {each.fix}\n")
    return "".join(lines)
