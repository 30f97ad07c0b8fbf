"""`agentflow init`: a project to start from."""

from __future__ import annotations

from pathlib import Path

import click

from ..terminal.output import Output, note
from .project_template import AGENT, FILES


@click.command("init", short_help="Write a small project that runs without a key.")
@click.argument("directory", metavar="[DIR]", default=".")
@click.pass_obj
def command(output: Output, directory: str) -> None:
    """Write a small project into DIR (the current folder): an agent, its script, a flow and a test.

    Overwrites nothing."""
    folder = Path(directory)
    if folder.exists() and not folder.is_dir():
        raise click.UsageError(f"{folder} is a file, nothing was written")
    present = [name for name in FILES if (folder / name).exists()]
    if present:
        raise click.UsageError(f"{folder / present[0]} exists already, nothing was written")
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        output.line(str(path))
    enter = "" if folder == Path(".") else f"cd {folder} && "
    note(f'try: {enter}agentflow run {AGENT} "How long is this text?"')
