"""A parsed file: its data, where everything in it stands, and what was wrong on the way."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from agentflow.config.document.codes import Code
from agentflow.config.document.problems import Edit, Path, Problem, dotted, invalid, mask_spans, window


@dataclass(frozen=True, slots=True)
class Mark:
    """A place in a file, counted from 0."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value stands: its key (for an item of a list: the item), the value, and a scalar as written.

    `quoted` holds for every scalar that is not plain; `block` is the style of a block scalar, `|` or `>`.
    """

    key: Mark
    value: Mark
    written: str | None = None
    quoted: bool = False
    block: str | None = None


_TOP = Place(Mark(0, 0), Mark(0, 0))


@dataclass(slots=True)
class Document:
    """`data` (None for an empty file), the place of every path in it, and the problems met while reading it.

    `secrets` are the spans of the values that must not be shown.
    """

    file: str
    lines: list[str]
    data: Any = None
    places: dict[Path, Place] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    secrets: list[tuple[Mark, Mark]] = field(default_factory=list)

    def place(self, path: Path) -> Place:
        """The place of the path, or of the nearest thing around it that is in the file."""
        while path and path not in self.places:
            path = path[:-1]
        return self.places.get(path, _TOP)

    def at(self, path: Path, otherwise: Any) -> Any:
        """The value at `path`, or `otherwise` when the path is not in the file."""
        value = self.data if path in self.places else otherwise
        for step in path if path in self.places else ():
            value = value[step]
        return value

    def problem(
        self, path: Path, code: Code, message: str, *, at: Mark | None = None, edit: Edit | None = None
    ) -> Problem:
        """A problem of the key at `path`, shown there or at `at`."""
        mark = at or self.place(path).key
        line = self.lines[mark.line] if mark.line < len(self.lines) else ""
        line, column = mask_spans(line, mark.column, self._hidden(mark.line, len(line)))
        source, caret = window(line, column)
        return Problem(self.file, mark.line + 1, mark.column + 1, dotted(path), code, message, source, caret, edit)

    def checked(self) -> Any:
        """The data. Raises `InvalidConfig` with every problem there is."""
        if self.problems:
            raise invalid(self.problems)
        return self.data

    def _hidden(self, line: int, width: int) -> set[tuple[int, int]]:
        spans = set()
        for start, end in self.secrets:
            if start.line <= line <= end.line:
                first = start.column if start.line == line else 0
                last = end.column if end.line == line else width
                spans.add((first, max(first, last)))
        return {(first, last) for first, last in spans if last > first}
