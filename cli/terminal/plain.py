"""What may be shown: a text without what steers a terminal or turns the order of what stands there (Z5)."""

from __future__ import annotations

import re
from typing import Any, TextIO
from unicodedata import category

from .area import AREA, cells

_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")
_LINE_ENDS = frozenset("\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029")  # some readers split at them
_ESCAPED = {
    code: f"\\u{code:04x}"
    for code in (*range(0x7F, 0xA0), 0x61C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A), 0xFEFF)
}


def plain(text: str) -> str:
    """The text without control, escape and bidirectional characters; tabs and line feeds stay."""
    return _STEERING.sub(lambda found: " " if found[0] in _LINE_ENDS else "", text)


def one_line(text: str) -> str:
    """The same on one line, whatever the text holds: for names, titles and rows of a list."""
    return " ".join(plain(text).split("\n"))


def block(text: str, indent: str = "  ") -> str:
    """The same with every line but the first indented, so that no line of it passes for one of ours."""
    return plain(text).rstrip("\n").replace("\n", f"\n{indent}")


def escaped(json_text: str) -> str:
    """JSON text whose texts carry none of it either: written as `\\uXXXX`."""
    return json_text.translate(_ESCAPED)


_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def visible(text: str) -> str:
    """The text with every character that shows nothing written as `\\uXXXX`, so that nothing hides in it (F42)."""
    return "".join(map(_seen, text))


def _seen(each: str) -> str:
    selects = "\ufe00" <= each <= "\ufe0f" or "\U000e0100" <= each <= "\U000e01ef"  # another look of what is before
    return f"\\u{ord(each):04x}" if selects or (category(each) in _INVISIBLE and each not in "\n\t") else each


def shortened(text: str, most: int) -> str:
    """The text, cut to so many columns."""
    if cells(text) <= most:
        return text
    kept = text[: max(0, most - 3)]
    while cells(kept) > most - 3 and kept:
        kept = kept[:-1]
    return f"{kept}..."[: max(0, most)]


class PlainStream:
    """A stream that shows plain text only, whoever writes to it: our notes, logs, warnings, tracebacks."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        AREA.erase()
        self.stream.write(plain(text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)
