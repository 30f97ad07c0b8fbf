"""`agentflow dev`: check, compare and test on every save."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import click

from ..engine import db_option
from ..terminal.output import Output, note
from .burst import Burst
from .files import digest, watched
from .rounds import Rounds

POLL_SECS = 0.2


@click.command("dev", short_help="Check and test a project on every save.")
@click.argument("project", type=click.Path(exists=True, file_okay=False, path_type=Path), default=Path("."))
@db_option
@click.pass_obj
def command(output: Output, project: Path, db: str | None) -> None:
    """Watch PROJECT (the current folder): on each save check the agents it concerns, say what it does to the next
    requests of recent sessions, without a call, and run the tests it touches. Ctrl-C ends it.

    The flow files of the project are imported, which runs them.
    """
    from agentflow import own_process

    own_process()
    root = project.resolve()
    follow(root, Rounds(output, root, db), changes(root))


def follow(root: Path, rounds: Rounds, saved: Iterator[frozenset[Path]]) -> None:
    """The first round, then one for each of what was saved."""
    note(f"watching {root}; Ctrl-C ends it")
    rounds.first()
    for changed in saved:
        rounds.after(changed)


def changes(root: Path, sleep: Callable[[float], None] = time.sleep) -> Iterator[frozenset[Path]]:
    """What is saved below a folder, a set for each burst, for ever; looking costs a stat of each file."""
    burst = Burst(watched(root), digest)
    while True:
        sleep(POLL_SECS)
        if changed := burst.look(watched(root), time.monotonic()):
            yield changed
