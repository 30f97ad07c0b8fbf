"""What printed commands say of the place that they work in."""

from __future__ import annotations

from pathlib import Path

from cli.engine import place


def test_a_printed_command_does_not_tell_the_password_of_the_database() -> None:
    """Z4: as the hint "answer with" prints it."""
    options = place(Path("shop"), "postgresql://me:hunter2-secret@db.example/shop")
    assert options == ("--project", "shop", "--db", "postgresql://***@db.example/shop")
