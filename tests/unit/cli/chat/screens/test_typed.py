"""What was typed: a command, or words to send; and how it may go on."""

from __future__ import annotations

import pytest

from cli.chat.screens.typed import Called, Typed, completions, meaning

COMMANDS = ["edit", "sessions", "stop"]
SESSIONS = [("first-1", "Invoice of May"), ("second-2", "")]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("/edit 2", Called("edit", "2")),
        ("/STOP", Called("stop", "")),
        ("/now  come back ", Called("now", "come back")),
        ("/edit\n", Called("edit", "")),
        ("//stop is a command", "/stop is a command"),
        ("/usr/bin/env is a path", "/usr/bin/env is a path"),
        ("/ alone", "/ alone"),
        ("/1 of 2", "/1 of 2"),
        ("/quit\nand more", "/quit\nand more"),
        (" /quit", " /quit"),
    ],
)
def test_a_command_is_one_line_that_begins_with_a_slash_before_a_name(text: str, meant: Called | str) -> None:
    assert meaning(Typed(text)) == meant


def test_no_command_is_taken_from_a_paste() -> None:
    """F62: a pasted `/quit` is words."""
    assert meaning(Typed("/quit", pasted=True)) == "/quit"
    assert meaning(Typed("//quit", pasted=True)) == "//quit"


@pytest.mark.parametrize(
    ("text", "offered"),
    [
        ("/s", ["/sessions", "/stop"]),
        ("/sessions ", ["/sessions first-1", "/sessions second-2"]),
        ("/sessions sec", ["/sessions second-2"]),
        ("/sessions invoice", ["/sessions first-1"]),
        ("/edit ", []),
        ("words", []),
        ("/s\n", []),
    ],
)
def test_commands_and_sessions_are_completed_by_id_and_name(text: str, offered: list[str]) -> None:
    assert [whole for whole, _ in completions(text, COMMANDS, SESSIONS)] == offered
