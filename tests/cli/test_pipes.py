"""Whatever stands at the other end of the streams: no traceback, a defined exit code, the turn is kept (B77)."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Command

Spawn = Callable[..., subprocess.Popen[str]]


def _end(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=60)
    return process.returncode, out or "", err or ""


@pytest.mark.parametrize("form", [(), ("--json",), ("--jsonl",)])
def test_a_reader_that_left_does_not_harm_the_turn(spawn: Spawn, agentflow: Command, form: tuple[str, ...]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    code, _, err = _end(spawn("run", "echo", "-s", "s-1", *form, "Hello", stdout=writing))
    os.close(writing)
    assert code == 0
    assert "Traceback" not in err
    assert "Exception ignored" not in err
    assert "assistant: Hello" in agentflow("sessions", "show", "s-1").out


def test_a_full_disk_is_an_error_and_the_turn_is_kept(spawn: Spawn, agentflow: Command) -> None:
    with Path("/dev/full").open("w") as full:
        code, _, err = _end(spawn("run", "echo", "-s", "s-1", "Hello", stdout=full))
    assert code == 1
    assert "error: standard output cannot be written: No space left on device" in err
    assert "Traceback" not in err
    assert "assistant: Hello" in agentflow("sessions", "show", "s-1").out


@pytest.mark.parametrize("arguments", [("run", "echo", "-s", "s-1", "Hello"), ("--help",), ("sessions", "ls")])
def test_closed_streams_are_survived(spawn: Spawn, arguments: tuple[str, ...]) -> None:
    def close() -> None:
        os.close(0)
        os.close(1)

    code, _, err = _end(spawn(*arguments, preexec_fn=close, stdin=None, stdout=None))
    assert code in (0, 1)
    assert "Traceback" not in err


def test_a_database_never_becomes_a_closed_standard_output(spawn: Spawn, agentflow: Command) -> None:
    _end(spawn("run", "echo", "-s", "s-1", "Hello", preexec_fn=lambda: os.close(1), stdout=None))
    assert "assistant: Hello" in agentflow("sessions", "show", "s-1").out


def test_a_terminal_sees_the_text_as_it_comes_and_no_cursor_codes(spawn: Spawn) -> None:
    ours, theirs = pty.openpty()
    process = spawn("run", "slow", "Hello", stdout=theirs)
    os.close(theirs)
    pieces: list[bytes] = []
    while piece := _read(ours):
        pieces.append(piece)
    os.close(ours)
    assert _end(process)[0] == 0
    assert len(pieces) > 1
    assert b"".join(pieces) == b"one two three four\r\n"


def test_json_lines_stay_json_whatever_is_logged(spawn: Spawn) -> None:
    code, out, _ = _end(spawn("run", "restless", "--max-iterations", "2", "--jsonl", "\u2028 Hello"))
    assert code == 6
    assert all(isinstance(json.loads(line), dict) for line in out.splitlines())
    assert "\x1b" not in out


def test_standard_input_comes_before_the_text(spawn: Spawn) -> None:
    process = spawn("run", "echo", "Sum it up.", stdin=subprocess.PIPE)
    out, _ = process.communicate("A document.\n", timeout=60)
    assert out == "A document.\nSum it up.\n"


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 1000)
    except OSError:  # the other end of a terminal was closed
        return b""
