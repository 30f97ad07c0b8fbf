"""Markdown is laid out for a terminal, and nothing in it steers one (Z5)."""

from __future__ import annotations

import re

import pytest

from cli.terminal.views import laid_out

pytest.importorskip("rich")


def test_markdown_is_laid_out_in_the_columns_there_are() -> None:
    text = laid_out("# Title\n\nSome **bold** words " + "and more " * 30, 40, colors=False)
    assert "**" not in text
    assert "Title" in text
    assert all(len(line) <= 40 for line in text.splitlines())


def test_colours_are_there_only_when_wanted() -> None:
    assert "\x1b[1mbold" in laid_out("**bold**", 40, colors=True)
    assert "\x1b" not in laid_out("**bold**", 40, colors=False)


@pytest.mark.parametrize("evil", ["\x1b[2J", "&#x1b;[2J", "`\x1b]0;t\x07`", "[x](http://a/&#27;]8;;b)", "&#x202e;abc"])
def test_nothing_in_it_steers_the_terminal(evil: str) -> None:
    """A character may be written by its number, which is read after the text was cleaned."""
    ours = re.compile(r"\x1b\[[0-9;]*m")
    left = ours.sub("", laid_out(f"before {evil} after", 60, colors=True))
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", left)
