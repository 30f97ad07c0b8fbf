"""A turn's text is standard input, the argument, or both, standard input first."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager

import click
import pytest

from cli.terminal import stdin
from cli.terminal.stdin import turn_text


@contextmanager
def _pipe(monkeypatch: pytest.MonkeyPatch, content: bytes | None) -> Iterator[None]:
    """Standard input as a pipe that holds the content; null: one that stays open and never speaks."""
    reading, writing = os.pipe()
    if content is not None:
        os.write(writing, content)
        os.close(writing)
    with os.fdopen(reading) as stream:
        monkeypatch.setattr("sys.stdin", stream)
        yield
    if content is None:
        os.close(writing)


@pytest.mark.parametrize(
    ("piped", "argument", "text"),
    [
        (b"from a pipe\n", None, "from a pipe"),
        (b"a document\n", "Sum it up.", "a document\nSum it up."),
        (b"", "alone", "alone"),
        (b"", None, None),
        (b"\n", None, ""),
        (b"\n", "alone", "alone"),
        (b"", "", ""),
        (b"\xff", None, "\N{REPLACEMENT CHARACTER}"),
    ],
)
def test_standard_input_comes_before_the_argument_and_nothing_is_not_blank(
    monkeypatch: pytest.MonkeyPatch, piped: bytes, argument: str | None, text: str | None
) -> None:
    with _pipe(monkeypatch, piped):
        assert turn_text(argument) == text


def test_more_than_an_input_may_have_is_refused_and_not_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Z3: `/dev/zero` has no end."""
    with open("/dev/zero") as endless:
        monkeypatch.setattr("sys.stdin", endless)
        with pytest.raises(click.UsageError, match="more than 32,000,000 bytes"):
            turn_text(None)


def test_a_pipe_that_never_speaks_is_not_waited_for_when_there_is_a_text(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """B79: a process without a terminal may have inherited a dead pipe."""
    monkeypatch.setattr(stdin, "GRACE_SECS", 0)
    with _pipe(monkeypatch, None):
        assert turn_text("hello") == "hello"
    assert "standard input" in capsys.readouterr().err


def test_a_closed_standard_input_is_an_empty_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", None)
    assert turn_text("hello") == "hello"


def test_a_terminal_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = io.StringIO("never read")
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr("sys.stdin", terminal)
    assert turn_text(None) is None
