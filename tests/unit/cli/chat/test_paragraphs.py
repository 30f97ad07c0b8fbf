"""A reply that comes in pieces is cut where a part of it is finished."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cli.chat.paragraphs import Paragraphs, tail

TEXT = "# Title\n\nHello\nyou\n\n\n- a\n\n  deeper\n\n- b\n\n```py\nx = 1\n\ny = 2\n```\n\nend"
PARTS = ["# Title", "Hello\nyou", "- a\n\n  deeper", "- b", "```py\nx = 1\n\ny = 2\n```"]


def _fed(pieces: list[str]) -> tuple[list[str], Paragraphs]:
    paragraphs = Paragraphs()
    return [part for piece in pieces for part in paragraphs.take(piece)], paragraphs


def test_paragraphs_lists_and_fences_are_whole() -> None:
    """What lies deeper belongs to what is before it; an empty line in a fence ends nothing."""
    parts, paragraphs = _fed([TEXT])
    assert parts == PARTS
    assert (paragraphs.open, paragraphs.rest(), paragraphs.open) == ("end", ["end"], "")


@given(st.lists(st.integers(1, 7), min_size=len(TEXT)))
def test_how_the_pieces_are_cut_makes_no_difference(sizes: list[int]) -> None:
    pieces, at = [], 0
    for size in sizes:
        pieces.append(TEXT[at : at + size])
        at += size
    assert _fed(pieces)[0] == PARTS


@given(st.lists(st.text(alphabet="ab `~\n-", max_size=6), max_size=30))
def test_no_word_is_lost_or_said_twice(pieces: list[str]) -> None:
    parts, paragraphs = _fed(pieces)
    said = "".join([*parts, *paragraphs.rest()])
    assert "".join(said.split()) == "".join("".join(pieces).split())


def test_the_tail_is_what_fits_under_what_was_said() -> None:
    assert tail("one\ntwo\nthree", 80, 2) == ["two", "three"]
    assert tail("abcdef", 4, 6) == ["abcd", "ef"]
    assert tail("日本語", 4, 6) == ["日本", "語"]
    assert tail("\x1b[2Jx\n", 80, 6) == ["[2Jx"]
    assert tail(" \n", 80, 6) == []
