"""A reply as it comes, cut where a part of it is finished. Pure."""

from __future__ import annotations

from ..terminal.area import cells
from ..terminal.plain import plain


class Paragraphs:
    """Takes pieces of Markdown and gives whole paragraphs, lists and blocks of code, so that each can be laid out.

    A part ends at an empty line that the next line does not lie deeper than; a fence ends only where it is closed.
    `open` is what has begun and is not finished.
    """

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._begun = ""
        self._fence = ""

    @property
    def open(self) -> str:
        return "\n".join([*self._lines, self._begun])

    def take(self, text: str) -> list[str]:
        """The parts that this piece finishes."""
        *ended, self._begun = (self._begun + text).split("\n")
        parts = []
        for line in ended:
            if self._ends_before(line):
                parts.append(self._part())
            self._note_fence(line)
            self._lines.append(line)
        if self._begun and self._ends_before(self._begun):
            parts.append(self._part())
        return [part for part in parts if part.strip()]

    def rest(self) -> list[str]:
        """What is still open, as a last part."""
        text, self._lines, self._begun, self._fence = self.open, [], "", ""
        return [text] if text.strip() else []

    def _ends_before(self, line: str) -> bool:
        after_blank = bool(self._lines) and not self._lines[-1].strip()
        return not self._fence and after_blank and bool(line.strip()) and not line.startswith((" ", "\t"))

    def _note_fence(self, line: str) -> None:
        mark = line.strip()[:3]
        if self._fence and mark == self._fence:
            self._fence = ""
        elif not self._fence and mark in ("```", "~~~"):
            self._fence = mark

    def _part(self) -> str:
        lines, self._lines = self._lines, []
        return "\n".join(lines).strip("\n")


def tail(text: str, columns: int, rows: int) -> list[str]:
    """The last rows of a text as a terminal of so many columns shows it."""
    lines: list[str] = []
    for line in text[-columns * rows :].rstrip("\n").split("\n")[-rows:]:
        lines += _folded(plain(line).expandtabs(4), columns)
    return lines[-rows:] if text.strip() else []


def _folded(line: str, columns: int) -> list[str]:
    rows, width = [""], 0
    for each in line:
        if width + cells(each) > columns:
            rows.append("")
            width = 0
        rows[-1] += each
        width += cells(each)
    return rows
