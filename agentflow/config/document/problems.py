"""What is wrong with a file, said so that a person can mend it: place, key, sentence, source line, caret (A2).

Values of secret keys never reach a message or the source line shown with it (A3).
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from agentflow.config.document.codes import Code
from agentflow.errors import InvalidConfig
from agentflow.secrets.names import MASK
from agentflow.secrets.redacting import mask_urls
from agentflow.text import one_line

Path = tuple[str | int, ...]

_SECRET_IN_TEXT = re.compile(
    r"((?:api[_-]?key|secret|token|password|authorization)[\"']?[ \t]{0,9}:)[ \t]*\S.*", re.IGNORECASE
)
_WIDEST = 140


@dataclass(frozen=True, slots=True)
class Edit:
    """A change of a file that mends a problem for certain: at a place, counted from 0, `new` for `old`."""

    line: int
    column: int
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Problem:
    """One complaint about a file; `line` and `column` count from 1, `key` is dotted and empty for the whole file.

    `code` is the stable name of its kind. `source` is the line as it may be shown and `caret` the 0-based column in it.
    `edit` mends it, where it is certain what was meant.
    """

    file: str
    line: int
    column: int
    key: str
    code: Code
    message: str
    source: str = ""
    caret: int = 0
    edit: Edit | None = None

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}: "
        head = one_line(place + (f"{self.key}: " if self.key else "") + self.message)
        if not self.source.strip():
            return head
        return f"{head}\n    {self.source}\n    {' ' * self.caret}^"

    def as_dict(self) -> dict[str, str | int | bool]:
        return {
            "file": self.file, "line": self.line, "column": self.column, "key": self.key, "code": self.code.value,
            "message": self.message, "fixable": self.edit is not None,
        }  # fmt: skip


def invalid(problems: Iterable[Problem]) -> InvalidConfig:
    """One error with all the problems, in the file's order, each once; `detail["problems"]` has them as dicts."""
    seen = {(each.file, each.line, each.column, each.message): each for each in problems}
    ordered = sorted(seen.values(), key=lambda each: (each.file, each.line, each.column))
    return InvalidConfig("\n".join(map(str, ordered)), detail={"problems": [each.as_dict() for each in ordered]})


def dotted(path: Path) -> str:
    """`("tools", 2, "flow")` as `tools[2].flow`."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".")


def mask_line(line: str) -> str:
    """A line of a file that could not be parsed, without what may be a secret in it."""
    return mask_urls(_SECRET_IN_TEXT.sub(rf"\1 {MASK}", line))


def mask_spans(line: str, column: int, spans: Iterable[tuple[int, int]]) -> tuple[str, int]:
    """The line with each span (0-based, end exclusive) hidden, and where `column` has moved to."""
    for start, end in sorted(spans, reverse=True):
        line = line[:start] + MASK + line[end:]
        if column >= end:
            column += len(MASK) - (end - start)
        elif column > start:
            column = start
    return mask_urls(line), column


def window(line: str, column: int) -> tuple[str, int]:
    """The part of a long line around `column`, tabs as single blanks, so that a caret below it points right."""
    line = line.replace("\t", " ").rstrip()
    start = max(column - _WIDEST // 2, 0) if len(line) > _WIDEST else 0
    return line[start : start + _WIDEST], column - start


def suggestion(word: str, known: Iterable[str]) -> str | None:
    """The known word that was most likely meant, if any is close; case does not matter."""
    by_lower = {each.lower(): each for each in known}
    close = difflib.get_close_matches(word.lower(), by_lower, n=1, cutoff=0.7)
    return by_lower[close[0]] if close else None


def did_you_mean(word: str, known: Sequence[str]) -> str:
    """`, did you mean 'x'?`, or nothing."""
    close = suggestion(word, known)
    return f", did you mean {close!r}?" if close else ""
