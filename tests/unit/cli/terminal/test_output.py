"""Standard output carries the result only and outlives whatever happens to its other end (B77)."""

from __future__ import annotations

import json
import sys

import pytest

from cli.terminal.output import Output


def test_a_line_ends_once(capsys: pytest.CaptureFixture[str]) -> None:
    output = Output(sys.stdout)
    output.line("one")
    output.line("two\n")
    assert capsys.readouterr().out == "one\ntwo\n"


def test_a_json_line_is_one_line_for_every_reader(capsys: pytest.CaptureFixture[str]) -> None:
    """Some readers split lines at U+2028, U+2029 and U+0085 too (B40)."""
    text = "a\u2028b\u2029c\u0085d\ne"
    Output(sys.stdout).json({"text": text})
    out = capsys.readouterr().out
    assert out.splitlines() == [out.rstrip("\n")]
    assert json.loads(out) == {"text": text}


@pytest.mark.parametrize("is_terminal", [True, False])
def test_nobody_gets_control_characters_of_a_text(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, is_terminal: bool
) -> None:
    """Z5: a model's reply may not move the cursor or rename the window, also not of whoever reads the file later."""
    monkeypatch.setattr(Output, "is_terminal", is_terminal)
    Output(sys.stdout).write("safe\x1b]0;title\x07\ttab\n")
    assert capsys.readouterr().out == "safe]0;title\ttab\n"
