"""`agentflow eval capture`: a case made of a conversation."""

from __future__ import annotations

import os
from pathlib import Path

import click

from ..engine import engine_options, reading
from ..terminal.output import Output, note


@click.command("capture", short_help="Make a case of a conversation.")
@click.argument("session")
@click.option(
    "--turn", type=click.IntRange(min=1), metavar="N", help="Only turn N; what was said before is its history."
)
@click.option("-o", "--output", "target", metavar="FILE", type=click.Path(path_type=Path),
              help="File to write.  [default: standard output]")  # fmt: skip
@click.option("--force", is_flag=True, help="Write over a file that is there.")
@engine_options
@click.pass_obj
def command(
    output: Output, session: str, turn: int | None, target: Path | None, force: bool, project: Path, db: str | None
) -> None:
    """Write what was said, loaded and done in SESSION as a case, YAML to be read and edited; `eval run` runs it."""
    from agentflow import capture_case

    if target is not None and not force and (target.exists() or target.is_symlink()):
        raise click.UsageError(f"{target} is there already: --force writes over it")
    text, lacks = reading(project, db, lambda runtime: capture_case(runtime, session, turn=turn))
    for each in lacks:
        note(f"the case lacks something: {each}")
    if target is None:
        output.write(text)
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    with os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
    note(f"wrote {target}")
