"""What somebody typed, and what it is meant as. Pure (F62)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto


@dataclass(frozen=True)
class Typed:
    """One input, sent by Enter. `pasted`: it begins with text from a paste, which is never a command or a choice."""

    text: str
    pasted: bool = False


class Key(Enum):
    """What is pressed beside text."""

    STOP = auto()  # Ctrl-C
    LEAVE = auto()  # Ctrl-D, or the end of input


@dataclass(frozen=True)
class Line:
    """What the next input is for: the `label` before it. A `message` may be recalled later, an answer may not."""

    label: str = "> "
    message: bool = True


@dataclass(frozen=True)
class Called:
    """A command by its name, with the words behind it."""

    name: str
    argument: str


def meaning(typed: Typed) -> Called | str:
    """The command that was typed, or the text to send.

    A command is one line whose first character is `/` before a letter; `//` at the start sends a text with one `/`.
    """
    text = typed.text.strip("\n")
    if typed.pasted or "\n" in text or not text.startswith("/"):
        return text
    if text.startswith("//"):
        return text[1:]
    name, _, argument = text[1:].partition(" ")
    return Called(name.lower(), argument.strip()) if name[:1].isalpha() and "/" not in name else text


def completions(text: str, commands: list[str], sessions: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """What a text before the cursor may go on as, `(whole text, what it is)`: commands, and sessions by id or name."""
    if not text.startswith("/") or "\n" in text:
        return []
    name, space, begun = text[1:].partition(" ")
    if not space:
        return [(f"/{each}", "") for each in commands if each.startswith(name.lower())]
    if name.lower() != "sessions":
        return []
    wanted = begun.casefold()
    return [
        (f"/sessions {identifier}", title)
        for identifier, title in sessions
        if identifier.casefold().startswith(wanted) or (wanted and wanted in title.casefold())
    ]
