"""What others write to standard output and standard error while a chat owns the terminal."""

from __future__ import annotations

import asyncio
import codecs
import os
import select
import sys
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

_MOST_CHARS = 8_000  # of a line that does not end


class Captured:
    """While it is entered, what this process and its children write to descriptors 1 and 2 goes to `show`, by lines.

    A thread of its own reads it, so that whoever writes much never waits for a loop that writes itself.
    """

    def __init__(self, show: Callable[[str], None]) -> None:
        self._show = show

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self._kept = {number: os.dup(number) for number in (1, 2)}
        self._read, write = os.pipe()
        self._ended, self._end = os.pipe()
        for number in self._kept:
            os.dup2(write, number)
        os.close(write)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
        for number, kept in self._kept.items():
            os.dup2(kept, number)
            os.close(kept)
        os.close(self._end)
        await asyncio.to_thread(self._thread.join)
        os.close(self._read)
        os.close(self._ended)

    def _run(self) -> None:
        """Reads until it is to end and nothing is left; children may hold the other side open."""
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        begun = ""
        while self._read in select.select([self._read, self._ended], [], [])[0]:
            piece = os.read(self._read, 65536)
            if not piece:
                break
            lines, _, begun = (begun + decoder.decode(piece)).rpartition("\n")
            if len(begun) > _MOST_CHARS:
                lines, begun = f"{lines}\n{begun}".removeprefix("\n"), ""
            self._tell(lines)
        self._tell(begun)

    def _tell(self, text: str) -> None:
        if text:
            self._loop.call_soon_threadsafe(self._show, text)
