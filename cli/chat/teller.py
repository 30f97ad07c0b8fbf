"""How a chat says things: in colours by their meaning, and so that no text can pass for one of ours (Z5)."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..terminal.colors import Meaning, painted
from ..terminal.plain import block, plain
from ..terminal.views import laid_out
from .screens.screen import Screen

_CODES = re.compile(r"\x1b\[[0-9;]*m")
_INDENT = "  "
_MOST_LINES = 12  # of a message of the user, who has seen it already
_MOST_CHARS = 2_000


class Teller:
    """What is ours begins at the first column; what users, models and tools say is indented."""

    def __init__(self, screen: Screen, *, colors: bool) -> None:
        self.screen = screen
        self._colors = colors

    def note(self, text: str, meaning: Meaning | None = "note") -> None:
        """A line of ours; further lines of the text are indented under it."""
        said = block(text)
        self.screen.write(f"{painted(said, meaning) if meaning and said and self._colors else said}\n")

    def error(self, text: str) -> None:
        self.note(text, "error")

    def lines(self, lines: Iterable[str]) -> None:
        self.screen.write("".join(f"{block(line)}\n" for line in lines))

    def user(self, text: str) -> None:
        """What the user said; of a long text its beginning."""
        lines = text.rstrip("\n").split("\n")
        more = [f"... {len(lines) - _MOST_LINES:,} more lines"] if len(lines) > _MOST_LINES + 1 else []
        shown = "\n".join(lines[: _MOST_LINES if more else None])
        self.note("\n".join([f"> {shown[:_MOST_CHARS]}", *more]), "next")

    def reply(self, parts: Iterable[str]) -> None:
        """Parts of an answer: laid out where the cursor moves, as they are elsewhere."""
        for part in parts:
            lines = self._laid_out(part) if self.screen.moves else plain(part).split("\n")
            self.screen.write("".join(f"{_INDENT}{line}".rstrip() + "\n" for line in lines))

    def _laid_out(self, part: str) -> list[str]:
        """The lines of a part, and an empty one below it."""
        lines = laid_out(part, max(20, self.screen.columns - len(_INDENT) - 1), colors=self._colors).split("\n")
        seen = [at for at, line in enumerate(lines) if _CODES.sub("", line).strip()]
        return [*lines[seen[0] : seen[-1] + 1], ""] if seen else []
