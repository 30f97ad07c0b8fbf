"""The lines at the bottom of a terminal that come and go; whoever writes there takes them away first."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Mapping
from typing import TextIO
from unicodedata import combining, east_asian_width


def cells(text: str) -> int:
    """How many columns of a terminal a text takes."""
    return sum(0 if combining(each) else 2 if east_asian_width(each) in "WF" else 1 for each in text)


def is_steerable(stream: TextIO | None, environment: Mapping[str, str], color: str) -> bool:
    """Whether the cursor may be moved there: a terminal that can, and nobody who asked for plain text (B77)."""
    if stream is None or not stream.isatty() or environment.get("TERM", "dumb") == "dumb":
        return False
    return color == "always" or (color == "auto" and not environment.get("NO_COLOR"))


class Area:
    """What stands at the bottom of standard error's terminal now; drawn and taken away by whichever thread writes."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._lock = threading.RLock()

    def draw(self, lines: list[str], stream: TextIO) -> None:
        """Show these lines in place of the ones that stand there; each fits the terminal's width."""
        with self._lock:
            if lines != self._lines:
                self._write(self._gone(stream) + "\n".join(lines), stream)
                self._lines = lines
                self._stream = stream

    def erase(self) -> None:
        with self._lock:
            if self._lines:
                self._write(self._gone(self._stream), self._stream)
                self._lines = []

    def _gone(self, stream: TextIO) -> str:
        """Up to the first line, which a narrower window may have folded meanwhile, and nothing below."""
        if not self._lines:
            return ""
        width = width_of(stream)
        rows = sum(max(1, -(-cells(line) // width)) for line in self._lines)
        return (f"\x1b[{rows - 1}A" if rows > 1 else "") + "\r\x1b[J"

    @staticmethod
    def _write(text: str, stream: TextIO) -> None:
        try:
            stream.write(text)
            stream.flush()
        except OSError:
            pass


AREA = Area()  # of this process, which has one standard error


def raw_standard_error() -> TextIO | None:
    """Standard error without what keeps control characters out of it: for our own."""
    stream: TextIO | None = getattr(sys.stderr, "stream", sys.stderr)
    return stream


def width_of(stream: TextIO) -> int:
    """The columns of a terminal as it is now."""
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except OSError:
        return 80
