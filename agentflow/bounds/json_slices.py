"""JSON read in small steps: whoever else runs in this process gets a turn in between (Z3).

The decoder of the standard library reads a text in one call, which holds the interpreter for as long as the text is
long, on any thread. Here that decoder is given short pieces only, and values are counted and levels kept on the way.
"""

from __future__ import annotations

import math
import re
from json.decoder import scanstring  # type: ignore[attr-defined]  # typeshed leaves it out
from typing import Any

MAX_NUMBER = 1000  # characters

_PIECE = 65536  # characters that one call looks at
_FIRST_PIECE = 512
_SPACE = re.compile(r"[ \t\n\r]{0,65536}")
_NUMBER = re.compile(r"(-?(?:0|[1-9][0-9]*))(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_CUT = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?\Z")
_HALF = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\Z")
_WORDS = {"null": None, "true": True, "false": False}
_ENDS: dict[type, str] = {list: "]", dict: "}"}


def read(text: str, *, most_values: int, most_levels: int, keys_once: bool = False) -> Any:
    """The value of a JSON text; `keys_once`: an object that has a key twice is refused.

    Raises `ValueError` for what is none, and for more values or levels than allowed.
    """
    at, count = _after_space(text, 0), 0
    open_: list[Any] = []  # containers, the innermost last
    keys: list[str] = []  # of the open objects, where their next value belongs
    while True:
        count += 1
        if count > most_values:
            raise ValueError(f"it has more than {most_values:,} values")
        sign = text[at : at + 1]
        if sign in ("[", "{"):
            if len(open_) == most_levels:
                raise ValueError(f"it is nested more than {most_levels} levels deep")
            value: Any = [] if sign == "[" else {}
            at = _after_space(text, at + 1)
            if text[at : at + 1] != _ENDS[type(value)]:
                open_.append(value)
                if sign == "{":
                    at = _key(text, at, keys)
                continue
            at += 1
        else:
            value, at = _string(text, at + 1) if sign == '"' else _scalar(text, at)
        if keys_once and open_ and isinstance(open_[-1], dict) and keys[-1] in open_[-1]:
            raise ValueError(f"the key {keys[-1][:200]!r} is given twice")
        if (following := _placed(text, at, value, open_, keys)) is None:
            return value if not open_ else open_[0]
        at = following


def _placed(text: str, at: int, value: Any, open_: list[Any], keys: list[str]) -> int | None:
    """Put a value where it belongs, close what ends behind it; where the next one begins, null at the text's end."""
    while open_:
        inner = open_[-1]
        if isinstance(inner, list):
            inner.append(value)
        else:
            inner[keys.pop()] = value
        at = _after_space(text, at)
        sign = text[at : at + 1]
        if sign == ",":
            at = _after_space(text, at + 1)
            return at if isinstance(inner, list) else _key(text, at, keys)
        if sign != _ENDS[type(inner)]:
            raise _broken(f"',' or '{_ENDS[type(inner)]}' is missing", at)
        if len(open_) == 1:
            break
        value, at = open_.pop(), at + 1
    at = _after_space(text, at + 1 if open_ else at)
    if at != len(text):
        raise _broken("there is more behind the value", at)
    return None


def _key(text: str, at: int, keys: list[str]) -> int:
    """Keep the key that stands here; where its value begins."""
    if text[at : at + 1] != '"':
        raise _broken("a key in double quotes is missing", at)
    key, at = _string(text, at + 1)
    at = _after_space(text, at)
    if text[at : at + 1] != ":":
        raise _broken("':' is missing", at)
    keys.append(key)
    return _after_space(text, at + 1)


def _after_space(text: str, at: int) -> int:
    while text[at : at + 1] in (" ", "\n", "\t", "\r"):
        at = _SPACE.match(text, at).end()  # type: ignore[union-attr]  # it matches everywhere
    return at


def _scalar(text: str, at: int) -> tuple[Any, int]:
    token = text[at : at + MAX_NUMBER + 1]
    if (found := _NUMBER.match(token)) is not None:
        if found.end() > MAX_NUMBER:
            raise _broken(f"a number has more than {MAX_NUMBER} characters", at)
        whole, fraction, exponent = found.groups()
        return finite(found[0]) if fraction or exponent else int(whole), at + found.end()
    for word, value in _WORDS.items():
        if token.startswith(word):
            return value, at + len(word)
    raise _broken("a value is missing", at)


def finite(digits: str) -> float:
    """A number with a fraction or an exponent. Raises `ValueError` for one that no number of a machine comes near."""
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"the number {digits[:200]!r} is too large")
    return number


def _string(text: str, at: int) -> tuple[str, int]:
    """The string that begins here, behind its quote, and where the text goes on behind it."""
    end = text.find('"', at)
    if 0 <= end - at <= _PIECE and "\\" not in text[at:end]:
        return scanstring(text, at, True)  # type: ignore[no-any-return]  # typeshed does not know it
    pieces: list[str] = []
    size = _FIRST_PIECE
    while piece := _whole_escapes(text[at : at + size]):
        read, length = scanstring(piece + '"', 0, True)
        pieces.append(read)
        at += min(length, len(piece))
        if length <= len(piece):
            return "".join(pieces), at
        size = min(size * 2, _PIECE)
    raise _broken("a string has no end", at)


def _whole_escapes(piece: str) -> str:
    """The piece without an escape that was cut at its end, then without half a pair of which the other may follow."""
    for cut in (_CUT, _HALF):
        if (found := cut.search(piece, max(len(piece) - 6, 0))) is not None:
            start = found.start()
            run = start + 1 - len(piece[: start + 1].rstrip("\\"))  # backslashes in a row; an even number is text
            piece = piece[:start] if run % 2 else piece
    return piece


def _broken(what: str, at: int) -> ValueError:
    return ValueError(f"it is not JSON: {what} at character {at}")
