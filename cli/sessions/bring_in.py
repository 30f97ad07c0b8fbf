"""`agentflow sessions import`."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

import click

from ..engine import engine_options, with_runtime
from ..terminal.output import Output
from ..terminal.plain import one_line

_IN_MEMORY = 8_000_000  # bytes of standard input; what is more waits in a file without a name


@click.command("import", short_help="Bring in a session from an export.")
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True, dir_okay=False))
@click.option("--as", "session_id", metavar="ID", help="Give it this id.")
@click.option("--copy", is_flag=True, help="Give it a new id.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@engine_options
@click.pass_obj
def command(
    output: Output, file: Path, session_id: str | None, copy: bool, as_json: bool, project: Path, db: str | None
) -> None:
    """Bring in the session of FILE, an export as json or jsonl, or of standard input for -; prints its id.

    A session that is there is never changed: an id that is taken is refused, unless --as or --copy gives another one.
    """
    if session_id is not None and copy:
        raise click.UsageError("--copy makes an id of its own: leave it out, or --as")
    with _opened(file) as source:
        brought = with_runtime(
            project, db, lambda runtime: runtime.records.import_session(source, session_id=session_id, copy=copy)
        )
    if as_json:
        output.json(brought, indent=2)
    else:
        output.line(one_line(brought["session_id"]))


@contextmanager
def _opened(file: Path) -> Iterator[BinaryIO]:
    """The file, which is read more than once; a pipe is therefore kept."""
    if file != Path("-") and file.is_file():
        with file.open("rb") as opened:
            yield opened
        return
    with tempfile.SpooledTemporaryFile(_IN_MEMORY) as kept:
        if file != Path("-"):
            with file.open("rb") as opened:
                shutil.copyfileobj(opened, kept)
        elif sys.stdin is not None:
            shutil.copyfileobj(sys.stdin.buffer, kept)
        yield cast(BinaryIO, kept)
