"""The log on standard error: as loud as each agent's `logging_level`, tracebacks down to the author's code (T37)."""

from __future__ import annotations

import logging
import os
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from .terminal.colors import Meaning
from .terminal.output import note

MOST_FRAMES = 10  # of one exception: a recursion has a thousand that say the same

_MEANINGS: dict[int, Meaning] = {logging.WARNING: "error", logging.ERROR: "error", logging.CRITICAL: "error"}


@contextmanager
def shown_log() -> Iterator[None]:
    """While it is entered what agentflow and its agents log is shown, if their level lets it through."""
    log, handler = logging.getLogger("agentflow"), _Shown()
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)


class _Shown(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        from agentflow import redact

        if getattr(record, "turn_state", None) == "failed":
            return  # the command that runs the turn says so itself, and why
        try:
            text = shown(record, whole=logging.getLogger(record.name).isEnabledFor(logging.DEBUG))
        except Exception:  # a message whose arguments do not fit it is nobody's reason to fail
            text = f"{record.levelname.lower()}: {record.msg}"
        note(redact(text), _MEANINGS.get(record.levelno, "note"))


def shown(record: logging.LogRecord, *, whole: bool) -> str:
    """What is shown of a record: its message, and of an exception the author's own lines, or all of them.

    An exception that told a secret is a text by then, and shown as it is.
    """
    told = f"{record.levelname.lower()}: {record.getMessage()}"
    error = record.exc_info[1] if record.exc_info else None
    if error is None:
        return f"{told}\n{record.exc_text}" if record.exc_text else told
    if whole:
        return f"{told}\n{''.join(traceback.format_exception(error))}"
    return "\n".join([told, *author_lines(error)])


def author_lines(error: BaseException) -> list[str]:
    """Where an exception passed through the author's files, the deepest line last, and what it says; causes first."""
    return [line for each in reversed(_chain(error)) for line in _lines(each)]


def _chain(error: BaseException) -> list[BaseException]:
    """The exception, and each that it came of."""
    chain: list[BaseException] = []
    before: BaseException | None = error
    while before is not None and not any(before is each for each in chain):
        chain.append(before)
        before = before.__cause__ or (None if before.__suppress_context__ else before.__context__)
    return chain


def _lines(error: BaseException) -> list[str]:
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if _is_authors(frame.filename)]
    return [
        *(f"{_named(frame.filename)}:{frame.lineno} in {frame.name}: {frame.line}" for frame in frames[-MOST_FRAMES:]),
        *(line.rstrip("\n") for line in traceback.format_exception_only(error)),
    ]


def _is_authors(file: str) -> bool:
    return not file.startswith("<") and not any(Path(file).is_relative_to(folder) for folder in _libraries())


@cache
def _libraries() -> tuple[str, ...]:
    """Where code lies that is nobody's who writes flows: Python's, installed packages, agentflow."""
    import sysconfig

    import agentflow

    paths = sysconfig.get_paths()
    return (*(paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")), *agentflow.__path__)


def _named(file: str) -> str:
    """A file as it is named from here."""
    path = Path(file)
    return os.path.relpath(path) if path.is_relative_to(Path.cwd()) else file
