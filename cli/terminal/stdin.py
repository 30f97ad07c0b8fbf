"""The text of a turn from the command line, standard input, or both."""

from __future__ import annotations

import select
import sys

import click

from .output import note

_MOST_BYTES = 32_000_000  # of an input (Z3); one more is refused when it is read
GRACE_SECS = 5  # how long a text waits for the first byte of a standard input that may never speak


def one_text(_: click.Context, __: click.Parameter, words: tuple[str, ...]) -> str | None:
    """The callback of an argument TEXT, which the shell has split when its quotes were forgotten."""
    if len(words) > 1:
        raise click.UsageError("TEXT is one argument: put it into quotes")
    return words[0] if words else None


def turn_text(argument: str | None) -> str | None:
    """Standard input first, then the argument; null when neither was given, which a blank one was.

    A terminal is never read; with an argument, neither is a silent pipe.
    """
    piped = _piped(patient=argument is None)
    if argument is None:
        return piped.rstrip("\n") if piped else None
    return "\n".join(part for part in (piped.rstrip("\n"), argument) if part)


def _piped(*, patient: bool) -> str:
    if sys.stdin is None or sys.stdin.isatty():
        return ""
    if not patient and not _speaks():
        note(f"nothing came on standard input within {GRACE_SECS} seconds: going on with TEXT alone")
        return ""
    piped = sys.stdin.buffer.read(_MOST_BYTES + 1)
    if len(piped) > _MOST_BYTES:
        raise click.UsageError(f"standard input holds more than {_MOST_BYTES:,} bytes, as much as an input may have")
    return piped.decode("utf-8", "replace")


def _speaks() -> bool:
    readable, _, _ = select.select([sys.stdin], [], [], GRACE_SECS)
    return bool(readable)
