"""A test made of a session, written and run once."""

from __future__ import annotations

import os
from pathlib import Path

import click

from ..engine import reading
from ..exits import Exit
from ..terminal.output import Output, note


def write_test(
    output: Output, session: str, turn: str | None, target: Path | None, project: Path, db: str | None
) -> int:
    """Write the test of a session to a file, or standard output, and say whether it passes; the exit code."""
    from agentflow import InvalidConfig, read_scenario
    from agentflow.testing import capture_scenario, run_scenario

    if target is not None and (target.exists() or target.is_symlink()):
        raise click.UsageError(f"{target} is there already; nothing was written")
    named = int(turn) if turn is not None and turn.isdecimal() else turn
    text, lacks = reading(project, db, lambda runtime: capture_scenario(runtime, session, named))
    for each in lacks:
        note(f"the test lacks something: {each}")
    if target is None:
        output.write(text)
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        with os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
        note(f"wrote {target}")
    try:
        outcome = run_scenario(read_scenario(target or project / f"{session}.test.yaml", text=text))
    except InvalidConfig as error:
        note(f"it cannot be read: {error}", "error")
        return Exit.FAILED
    for failure in outcome.failures:
        note(f"it does not pass: {failure}", "error")
    return Exit.FAILED if outcome.failures else Exit.DONE
