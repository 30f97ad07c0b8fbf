"""What a chat needs of a screen, and the one for terminals that know lines only."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol, TextIO

from ...terminal.area import width_of
from ...terminal.plain import plain
from .typed import Key, Line, Typed

_BURST_SECS = 0.05  # lines that come closer together than anybody types them were pasted


class Screen(Protocol):
    """Where a chat is shown and typed.

    Where its cursor `moves`, what was typed is taken away again and text is laid out. `live` gives the lines that stand
    above the input while something goes on.
    """

    moves: bool
    live: Callable[[], Sequence[str]]

    @property
    def columns(self) -> int: ...

    def taken(self) -> AbstractContextManager[None]:
        """The terminal is the chat's while this is entered, and as it was afterwards."""
        ...

    async def read(self, line: Line) -> Typed | Key | None:
        """The next input; null when it was withdrawn, and what had been typed comes again with the next one."""
        ...

    def withdraw(self) -> None:
        """What was asked for is not wanted any more, or something else is."""
        ...

    def press(self, key: Key) -> None:
        """As if this had been pressed."""
        ...

    def draft(self, text: str) -> None:
        """What the next message begins with."""
        ...

    def write(self, text: str) -> None:
        """Show text that carries our own codes and is plain otherwise, above the input."""
        ...

    def refresh(self) -> None:
        """What `live` gives has changed, or the input is to be seen again."""
        ...


class LineScreen:
    """A terminal without a cursor that moves: lines come and go, one after the other.

    Lines that come at once, as a paste does, are one input. There is no editing: a draft is shown to be typed again.
    """

    moves = False

    def __init__(self, stream: TextIO, descriptor: int) -> None:
        self.live: Callable[[], Sequence[str]] = lambda: ()
        self._stream = stream
        self._descriptor = descriptor
        self._label = ""
        self._label_stands = False
        self._wake = asyncio.Event()
        self._pressed: Key | None = None

    @property
    def columns(self) -> int:
        return width_of(self._stream)

    def taken(self) -> AbstractContextManager[None]:
        return nullcontext()

    async def read(self, line: Line) -> Typed | Key | None:
        self._label = line.label
        self.refresh()
        loop = asyncio.get_running_loop()
        loop.add_reader(self._descriptor, self._wake.set)
        try:
            await self._wake.wait()
        finally:
            loop.remove_reader(self._descriptor)
            self._wake.clear()
        if self._pressed is not None:
            key, self._pressed = self._pressed, None
            return key
        return await self._burst() if self._is_readable() else None

    async def _burst(self) -> Typed | Key:
        self._label_stands = False  # the line end that was typed has ended its line
        read = b""
        while self._is_readable():
            piece = os.read(self._descriptor, 65536)
            if not piece:
                break
            read += piece
            await asyncio.sleep(_BURST_SECS)
        if not read:
            return Key.LEAVE
        text = read.decode("utf-8", "replace").replace("\r\n", "\n").rstrip("\n")
        return Typed(text, pasted="\n" in text)

    def _is_readable(self) -> bool:
        import select

        return bool(select.select([self._descriptor], [], [], 0)[0])

    def withdraw(self) -> None:
        self._wake.set()

    def press(self, key: Key) -> None:
        self._pressed = key
        self._wake.set()

    def draft(self, text: str) -> None:
        if text:
            self.write(f"not sent:\n{plain(text)}\n")

    def write(self, text: str) -> None:
        self._put(("\n" if self._label_stands else "") + text)
        self._label_stands = False

    def refresh(self) -> None:
        if not self._label_stands:
            self._put(self._label)
            self._label_stands = True

    def _put(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except OSError:  # the terminal is gone: its end of input says so
            pass
