"""The screen of a terminal whose cursor moves: an input of several lines that stays below what is said.

This file is the door of prompt_toolkit, and is imported when a chat begins.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import TextIO

from prompt_toolkit import PromptSession
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.data_structures import Size
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.input import Input, create_input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.key_binding.key_processor import KeyProcessor
from prompt_toolkit.keys import Keys
from prompt_toolkit.output import ColorDepth, Output
from prompt_toolkit.output.vt100 import Vt100_Output

from ...terminal.plain import plain
from .typed import Key, Line, Typed

_QUIET_SECS = 0.03  # after an Enter that sends nothing comes for so long; what a terminal pastes comes closer

Completions = Callable[[str], Iterable[tuple[str, str]]]


class KeyboardScreen:
    """Reads with prompt_toolkit. Enter sends; Alt-Enter, Ctrl-J and a `\\` before Enter begin a new line.

    A paste is one input, bracketed or not: it is put into the line, and no Enter of it sends (F62). What is written
    meanwhile goes above the input.
    """

    moves = True

    def __init__(
        self, keys: Input, output: Output, *, colors: bool, recalled: Iterable[str], completions: Completions
    ) -> None:
        self.live: Callable[[], Sequence[str]] = lambda: ()
        self._output = output
        self._label = ""
        self._draft = ""
        self._pasted = False
        self._pressed: Key | None = None
        self._history = InMemoryHistory(list(recalled))
        self._session: PromptSession[Typed | Key | None] = PromptSession(
            self._above,
            multiline=True,
            erase_when_done=True,
            history=InMemoryHistory(),
            key_bindings=_bindings(self),
            completer=_Completer(completions),
            complete_while_typing=False,
            enable_suspend=True,
            reserve_space_for_menu=5,
            color_depth=None if colors else ColorDepth.DEPTH_1_BIT,
            input=keys,
            output=output,
        )
        self._enter = _Enter(self._session.default_buffer, self._send)
        self._session.app.key_processor.before_key_press += self._enter.before_key
        self._session.default_buffer.on_text_changed += self._on_text

    @property
    def columns(self) -> int:
        return self._output.get_size().columns

    async def read(self, line: Line) -> Typed | Key | None:
        if self._pressed is not None:
            key, self._pressed = self._pressed, None
            return key
        self._label = line.label
        draft, self._draft = (self._draft, "") if line.message else ("", self._draft)
        self._session.default_buffer.history = self._session.history = (
            self._history if line.message else InMemoryHistory()
        )
        self._pasted = False
        try:
            got = await self._session.prompt_async(default=draft, handle_sigint=False)
        except (EOFError, OSError):  # the end of input, or a terminal that is gone
            got = Key.LEAVE
        if isinstance(got, Typed) and line.message and got.text.strip():
            self._history.append_string(got.text)
        return got

    def withdraw(self) -> None:
        self._end(None)

    def press(self, key: Key) -> None:
        if not self._end(key):
            self._pressed = key

    def draft(self, text: str) -> None:
        self._draft = text

    def take_draft(self) -> str:
        """What was typed and not sent; it does not come again."""
        draft, self._draft = self._draft, ""
        return draft

    def taken(self) -> AbstractContextManager[None]:
        """Nothing is echoed or changed by the terminal, so that what is typed between two inputs is not lost either."""
        return self._session.input.raw_mode()

    def write(self, text: str) -> None:
        app = self._session.app
        if app.is_running:
            app.renderer.erase()
        self._output.write_raw(text)
        with contextlib.suppress(OSError):  # the terminal is gone, as its input will say
            self._output.flush()
        app.invalidate()

    def refresh(self) -> None:
        self._session.app.invalidate()

    def _above(self) -> StyleAndTextTuples:
        lines = "".join(f"{plain(line)}\n" for line in self.live())
        return [("", lines), ("bold", self._label)]

    def _on_text(self, buffer: Buffer) -> None:
        if not buffer.text:
            self._pasted = False

    def paste(self, text: str) -> None:
        """Put a paste where the cursor stands."""
        buffer = self._session.default_buffer
        self._pasted = self._pasted or not buffer.text[: buffer.cursor_position].strip()
        buffer.insert_text(text.replace("\r\n", "\n").replace("\r", "\n"))

    def enter(self) -> None:
        """Enter was pressed, or is in what comes now."""
        self._enter.pressed()

    def line_feed(self) -> None:
        self._enter.line_feed()

    def _send(self) -> None:
        text = self._session.default_buffer.text
        if self._session.app.is_running:
            self._session.app.exit(result=Typed(text, self._pasted))

    def _end(self, result: Key | None) -> bool:
        app = self._session.app
        if not app.is_running or app.future is None or app.future.done():
            return False
        self._enter.forget()
        self._draft = self._session.default_buffer.text or self._draft
        app.exit(result=result)
        return True


class _Enter:
    """Whether an Enter sends: not when something else comes right behind it, nor as the last one of such a burst."""

    def __init__(self, buffer: Buffer, send: Callable[[], None]) -> None:
        self._buffer = buffer
        self._send = send
        self._waits: asyncio.TimerHandle | None = None
        self._burst_until = 0.0
        self._after_return = False

    def pressed(self) -> None:
        if self._buffer.document.text_before_cursor.endswith("\\"):
            self._buffer.delete_before_cursor()
            self._buffer.insert_text("\n")
        else:
            self._waits = asyncio.get_running_loop().call_later(_QUIET_SECS, self._is_quiet)

    def before_key(self, _: KeyProcessor) -> None:
        """Something comes: an Enter that waits was none that sends."""
        if self._waits is not None:
            self.forget()
            self._line()

    def forget(self) -> None:
        """An Enter that waits is for nobody any more."""
        if self._waits is not None:
            self._waits.cancel()
            self._waits = None

    def line_feed(self) -> None:
        """A line of its own, but for the second half of a line's end in a paste."""
        after, self._after_return = self._after_return, False
        if not (after and self._buffer.document.text_before_cursor.endswith("\n")):
            self._buffer.insert_text("\n")

    def _is_quiet(self) -> None:
        self._waits = None
        if asyncio.get_running_loop().time() < self._burst_until:
            self._line()
        else:
            self._send()

    def _line(self) -> None:
        self._buffer.insert_text("\n")
        self._after_return = True
        self._burst_until = asyncio.get_running_loop().time() + 2 * _QUIET_SECS


class _Completer(Completer):
    def __init__(self, completions: Completions) -> None:
        self._completions = completions

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        before = document.text_before_cursor
        for text, told in self._completions(before):
            yield Completion(text, start_position=-len(before), display_meta=plain(told))


def _bindings(screen: KeyboardScreen) -> KeyBindings:
    keys = KeyBindings()
    empty = Condition(lambda: not screen._session.default_buffer.text)

    @keys.add(Keys.Enter)
    def _(event: KeyPressEvent) -> None:
        screen.enter()

    @keys.add(Keys.ControlJ)
    def _(event: KeyPressEvent) -> None:
        screen.line_feed()

    @keys.add(Keys.Escape, Keys.Enter)
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    @keys.add(Keys.BracketedPaste)
    def _(event: KeyPressEvent) -> None:
        screen.paste(event.data)

    @keys.add(Keys.ControlC)
    def _(event: KeyPressEvent) -> None:
        screen.press(Key.STOP)

    @keys.add(Keys.ControlD, filter=empty)
    def _(event: KeyPressEvent) -> None:
        screen.press(Key.LEAVE)

    return keys


def keyboard_screen(
    stream: TextIO, *, colors: bool, recalled: Iterable[str], completions: Completions
) -> KeyboardScreen:
    """The screen of the terminal behind a stream, typed on standard input. It is asked nothing it may not answer."""
    output = Vt100_Output(stream, lambda: _size(stream), term=os.environ.get("TERM"), enable_cpr=False)
    return KeyboardScreen(create_input(), output, colors=colors, recalled=recalled, completions=completions)


def _size(stream: TextIO) -> Size:
    try:
        size = os.get_terminal_size(stream.fileno())
    except OSError:  # the terminal is gone
        return Size(24, 80)
    return Size(size.lines or 24, size.columns or 80)
