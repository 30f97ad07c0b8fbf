"""What keys do in an input of several lines: Enter, pastes with and without brackets, recalling, completing (F62)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.input.base import PipeInput
from prompt_toolkit.output import DummyOutput

from cli.chat.screens.keyboard import KeyboardScreen
from cli.chat.screens.typed import Key, Line, Typed, completions

PASTE = "\x1b[200~{}\x1b[201~"
LINES = [f"line {number}" for number in range(60)]

Script = Callable[[KeyboardScreen, PipeInput], Awaitable[object]]


def _typing(script: Script) -> object:
    """What a script comes to that has a screen and its keys."""

    async def run() -> object:
        with create_pipe_input() as keys:
            screen = KeyboardScreen(
                keys,
                DummyOutput(),
                colors=False,
                recalled=["of an earlier chat"],
                completions=lambda text: completions(text, ["sessions", "stop"], [("s-1", "Mine")]),
            )
            async with asyncio.timeout(10):
                return await script(screen, keys)

    return asyncio.run(run())


def _typed(*pieces: str, line: Line = Line()) -> object:  # noqa: B008  # frozen
    """What comes of these keys, each piece in a read of its own, the last of them after a rest."""

    async def script(screen: KeyboardScreen, keys: PipeInput) -> object:
        reading = asyncio.create_task(screen.read(line))
        await asyncio.sleep(0)
        for piece in pieces[:-1]:
            await asyncio.to_thread(keys.send_text, piece)  # a pipe holds less than a long paste
        await asyncio.sleep(0.2 if len(pieces) > 1 else 0)
        assert not reading.done()
        keys.send_text(pieces[-1])
        return await reading

    return _typing(script)


def test_enter_sends_and_a_new_line_has_keys_of_its_own() -> None:
    assert _typed("hello\r") == Typed("hello")
    assert _typed("a\x1b\rb", "\r") == Typed("a\nb")
    assert _typed("a\nb", "\r") == Typed("a\nb")
    assert _typed("a\\\rb", "\r") == Typed("a\nb")


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
def test_a_paste_is_one_input_and_only_a_pressed_enter_sends_it(end: str) -> None:
    """F62: sixty lines, a line end behind the last."""
    text = end.join([*LINES, ""])
    assert _typed(PASTE.format(text), "\r") == Typed("\n".join([*LINES, ""]), pasted=True)


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
def test_a_paste_without_brackets_is_one_input_too(end: str) -> None:
    """F62: as a terminal that knows none sends it."""
    got = _typed(end.join([*LINES, ""]), "\r")
    assert isinstance(got, Typed)
    assert got.text.rstrip("\n").split("\n") == LINES


def test_what_ends_the_brackets_too_early_sends_nothing() -> None:
    got = _typed(PASTE.format("one\x1b[201~two\rthree\r"), "\r")
    assert isinstance(got, Typed)
    assert got.text.split("\n")[:2] == ["onetwo", "three"]


def test_a_paste_counts_as_one_where_it_begins_the_input() -> None:
    """A command's words may be pasted, the command may not."""
    assert _typed(PASTE.format("/quit"), "\r") == Typed("/quit", pasted=True)
    assert _typed("/sessions " + PASTE.format("s-1"), "\r") == Typed("/sessions s-1")
    assert _typed(PASTE.format("x") + "\x15" + "/quit", "\r") == Typed("/quit")


def test_half_a_megabyte_of_wide_text_is_an_input() -> None:
    text = "日本語\t🙂 " * 30_000
    assert _typed(PASTE.format(text), "\r") == Typed(text, pasted=True)


def test_ctrl_c_and_ctrl_d_are_keys_and_what_was_typed_comes_again() -> None:
    async def script(screen: KeyboardScreen, keys: PipeInput) -> object:
        keys.send_text("half\x03")
        assert await screen.read(Line()) is Key.STOP
        keys.send_text("\x04")  # there is text to be deleted, so nobody leaves
        keys.send_text(" done\r")
        assert await screen.read(Line()) == Typed("half done")
        keys.send_text("\x04")
        return await screen.read(Line())

    assert _typing(script) is Key.LEAVE


def test_an_input_that_is_withdrawn_loses_nothing() -> None:
    """A question that comes in between takes nothing of what is being typed."""

    async def script(screen: KeyboardScreen, keys: PipeInput) -> object:
        reading = asyncio.create_task(screen.read(Line()))
        keys.send_text("half a message")
        await asyncio.sleep(0.1)
        screen.withdraw()
        assert await reading is None
        keys.send_text("2\r")
        assert await screen.read(Line("Plan> ", message=False)) == Typed("2")
        keys.send_text("\r")
        return await screen.read(Line())

    assert _typing(script) == Typed("half a message")


def test_messages_are_recalled_and_answers_are_not() -> None:
    """F63."""

    async def script(screen: KeyboardScreen, keys: PipeInput) -> object:
        keys.send_text("my answer\r")
        await screen.read(Line("Plan> ", message=False))
        keys.send_text("\x1b[A")
        keys.send_text("\r")
        return await screen.read(Line())

    assert _typing(script) == Typed("of an earlier chat")


def test_tab_completes_commands_and_sessions() -> None:
    assert _typed("/se\t", " s\t", "\r") == Typed("/sessions s-1")


def test_a_key_that_comes_while_nobody_reads_is_not_lost() -> None:
    async def script(screen: KeyboardScreen, _: PipeInput) -> object:
        screen.press(Key.STOP)
        return await screen.read(Line())

    assert _typing(script) is Key.STOP
