"""`agentflow sessions export`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

import click

from ..engine import engine_options, reading
from ..terminal.output import Output, note
from ..terminal.plain import escaped

if TYPE_CHECKING:
    from agentflow import Runtime

FORMATS = ("md", "json", "jsonl", "html")
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST = 100  # characters of a file's name without its ending


@click.command("export", short_help="Write sessions to files, or one to standard output.")
@click.argument("sessions", metavar="SESSION...", nargs=-1, required=True)
@click.option(
    "--format", "format_", type=click.Choice(FORMATS), help="Of the file.  [default: as -o ends, otherwise md]"
)
@click.option("-o", "--output", "target", metavar="FILE", type=click.Path(path_type=Path),
              help="File to write; of several sessions a folder.  [default: standard output]")  # fmt: skip
@click.option("--force", is_flag=True, help="Write over files that are there.")
@engine_options
@click.pass_obj
def command(
    output: Output,
    sessions: tuple[str, ...],
    format_: str | None,
    target: Path | None,
    force: bool,
    project: Path,
    db: str | None,
) -> None:
    """Write each SESSION as it is now: `json` and `jsonl` can be imported again, `md` and `html` are for people."""
    chosen = format_ or format_of(target) or "md"
    if target is None and len(sessions) > 1:
        raise click.UsageError("several sessions go into a folder: name it with -o")
    paths = {} if target is None else _paths(sessions, target, chosen)
    for path in paths.values():
        if not force and (path.exists() or path.is_symlink()):
            raise click.UsageError(f"{path} is there already: --force writes over it")

    async def export(runtime: Runtime) -> None:
        if not paths:
            text = await runtime.records.export(sessions[0], chosen) or ""
            output.write(escaped(text) if chosen in ("json", "jsonl") else text)
        for session, path in paths.items():
            await write_export(runtime, session, chosen, path)
            note(f"wrote {path}")

    reading(project, db, export)


def _paths(sessions: Sequence[str], target: Path, format_: str) -> dict[str, Path]:
    """The file of each session: the one that was named, or one of its own in the folder, which is made."""
    if len(sessions) == 1 and not target.is_dir():
        return {sessions[0]: target}
    target.mkdir(exist_ok=True)
    return {session: target / f"{_file_name(session)}.{format_}" for session in sessions}


def format_of(target: Path | None) -> str | None:
    """The format that a file's name ends in."""
    ending = "" if target is None else target.suffix.removeprefix(".")
    return ending if ending in FORMATS else None


def _file_name(session: str) -> str:
    """A name that leads nowhere else, another one for each id; `%2F` for what no name should have."""
    name = _UNSAFE.sub(lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode()), session)
    if len(name) <= _LONGEST:
        return name
    from hashlib import sha256

    return f"{name[: _LONGEST - 17]}-{sha256(session.encode()).hexdigest()[:16]}"


async def write_export(runtime: Runtime, session: str, format_: str, path: Path) -> None:
    """The whole file or none: what went wrong half-way is not left lying there."""
    part = path.with_name(f".{path.name}.part")
    try:
        with part.open("xb") as file:
            part.chmod(0o600)
            await runtime.records.export(session, format_, to=cast(BinaryIO, file))
        part.replace(path)
    except FileExistsError:
        raise click.UsageError(f"{part} is there already: another export writes it, or one was ended") from None
    except BaseException:
        part.unlink(missing_ok=True)
        raise
