"""The lines at the bottom come and go without a trace, and only where the cursor may be moved (B77)."""

from __future__ import annotations

import io

import pytest

from cli.terminal import area as area_module
from cli.terminal.area import Area, is_steerable
from cli.terminal.colors import has_colors


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_new_drawing_takes_the_last_one_away() -> None:
    area, stream = Area(), Terminal()
    area.draw(["todo", "one"], stream)
    area.draw(["todo", "one"], stream)
    area.draw(["two"], stream)
    area.erase()
    area.erase()
    assert stream.getvalue() == "todo\none" + "\x1b[1A\r\x1b[J" + "two" + "\r\x1b[J"


def test_a_line_that_a_narrower_window_folded_is_taken_away_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    area, stream = Area(), Terminal()
    area.draw(["x" * 70], stream)
    monkeypatch.setattr(area_module, "width_of", lambda _: 30)
    area.erase()
    assert stream.getvalue().endswith("\x1b[2A\r\x1b[J")


@pytest.mark.parametrize(
    ("environment", "color", "steerable", "colors"),
    [
        ({"TERM": "xterm"}, "auto", True, True),
        ({"TERM": "xterm", "NO_COLOR": "1"}, "auto", False, False),
        ({"TERM": "xterm", "NO_COLOR": ""}, "auto", True, True),
        ({"TERM": "xterm", "NO_COLOR": "1"}, "always", True, True),
        ({"TERM": "xterm", "NO_COLOR": "1", "FORCE_COLOR": "1"}, "auto", False, False),
        ({"TERM": "xterm"}, "never", False, False),
        ({"TERM": "dumb"}, "auto", False, False),
        ({"TERM": "dumb", "FORCE_COLOR": "1"}, "auto", False, True),
        ({}, "auto", False, False),
    ],
)
def test_a_terminal_is_steered_and_coloured_as_it_is_asked(
    environment: dict[str, str], color: str, steerable: bool, colors: bool
) -> None:
    assert is_steerable(Terminal(), environment, color) == steerable
    assert has_colors(color, environment, is_terminal=True) == colors


@pytest.mark.parametrize(
    ("environment", "color", "colors"),
    [({"TERM": "xterm"}, "auto", False), ({"FORCE_COLOR": "1"}, "auto", True), ({}, "always", True)],
)
def test_no_pipe_is_steered_and_one_is_coloured_only_when_asked(
    environment: dict[str, str], color: str, colors: bool
) -> None:
    assert not is_steerable(io.StringIO(), environment, color)
    assert has_colors(color, environment, is_terminal=False) == colors
