"""Standard output, which carries the result only, and standard error, which carries everything else (B77)."""

from __future__ import annotations

import errno
import json
import os
import sys
from pathlib import Path
from typing import Any, TextIO

from .area import AREA, raw_standard_error, width_of
from .colors import COLOR, Meaning, has_colors, painted
from .plain import block, escaped, plain


class Output:
    """Writes to standard output and outlives its failure, so that a turn is never lost to a closed pipe.

    After the first failure writes are dropped and `usable` is false. A reader that left is no error; a full disk
    or a closed descriptor is, and `failure` names it.
    """

    def __init__(self, stream: TextIO | None) -> None:
        self.failure: OSError | None = None
        self.usable = True
        self.quiet = False  # of what only goes on, nothing is told
        self.markdown = False  # on a terminal the answer is laid out
        self.database: tuple[Path, str | None] | None = None  # project and --db of the command, once it works on them
        self._stream = stream

    @property
    def terminal(self) -> TextIO | None:
        """The stream, where it is a terminal."""
        return self._stream if self._stream is not None and self._stream.isatty() else None

    @property
    def is_terminal(self) -> bool:
        return self.terminal is not None

    @property
    def columns(self) -> int:
        """How wide the terminal is now."""
        return 80 if self._stream is None else width_of(self._stream)

    def write(self, text: str) -> None:
        """Writes at once, without the characters a text could play tricks with (Z5)."""
        self.painted(plain(text))

    def painted(self, text: str) -> None:
        """Writes a text that carries our own codes and is plain otherwise."""
        if not self.usable or not text:
            return
        try:
            if self._stream is None:
                raise OSError(errno.EBADF, os.strerror(errno.EBADF))
            AREA.erase()
            self._stream.write(text)
            self._stream.flush()
        except OSError as error:
            self._give_up(error)

    def line(self, text: str) -> None:
        self.write(text if text.endswith("\n") else text + "\n")

    def json(self, value: Any, *, indent: int | None = None) -> None:
        """One JSON value; a single line unless indented. Only ASCII where the output cannot carry more (Z5)."""
        unicode = (getattr(self._stream, "encoding", None) or "").lower().replace("-", "") == "utf8"
        self.line(escaped(json.dumps(value, ensure_ascii=not unicode, indent=indent)))

    def _give_up(self, error: OSError) -> None:
        self.usable = False
        if not isinstance(error, BrokenPipeError):
            self.failure = error
        if self._stream is not None:
            # What is still buffered would fail once more when the interpreter flushes it at exit.
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)


def note(text: str, meaning: Meaning | None = None) -> None:
    """A line on standard error; further lines of the text are indented under it (Z5).

    A standard error that cannot be written is nobody's reason to fail.
    """
    _tell(block(text), meaning, "\n")


def prompt(text: str, meaning: Meaning | None = None) -> None:
    """The same without a line end."""
    _tell(plain(text), meaning, "")


def _tell(text: str, meaning: Meaning | None, end: str) -> None:
    """A plain text in its colour, which only we may write: past what keeps control characters out."""
    stream = raw_standard_error()
    try:
        if stream is not None:
            AREA.erase()
            colored = meaning and text and has_colors(COLOR.choice, os.environ, is_terminal=stream.isatty())
            stream.write((painted(text, meaning) if colored and meaning else text) + end)
            stream.flush()
    except OSError:
        pass


def take_standard_output() -> TextIO | None:
    """The stream of the results: a copy of descriptor 1 that nobody else knows; null when there is none.

    From here on descriptor 1 leads to standard error, whatever flows, hooks, workers and their child processes write
    to it, also while they are imported.
    """
    if sys.stdout is None:
        return None
    sys.stdout.flush()
    results = os.dup(1)
    os.dup2(2, 1)
    encoding = sys.stdout.encoding
    sys.stdout = sys.stderr
    return open(results, "w", encoding=encoding, errors="replace")


def occupy_closed_descriptors() -> None:
    """Opens the null device on closed descriptors 0 to 2.

    Otherwise the next file opened, the database, would become standard output and be written into.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
