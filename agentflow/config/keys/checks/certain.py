"""What of a mistake can be mended without a doubt about what was meant, as an edit of the file (A2).

Another word for a key that there is, or the same word in another spelling; quotes round a number and a missing pair of
them round a text; yes and no where true and false stand. A word that is only close is never taken.
"""

from __future__ import annotations

import re
from typing import Any

from pydantic_core import ErrorDetails

from agentflow.config.document.document import Document, Mark
from agentflow.config.document.problems import Edit, Path
from agentflow.config.document.scalars import read_scalar
from agentflow.config.keys.base import Keys, class_at, fields_by_key
from agentflow.config.keys.spellings import certain
from agentflow.secrets.names import holds_secrets

_UNQUOTED = {"bool_type": (bool,), "int_type": (int,), "float_type": (int, float)}
_WORDS = {"yes": "true", "on": "true", "no": "false", "off": "false"}
_ONE_ITEM = re.compile(r"[A-Za-z_][\w./-]*")
_END_OF_KEY = re.compile(r"[ \t]*:(?:\s|$)")
_CHOICE = re.compile(r"'([^']*)'")


def renamed(document: Document, root: type[Keys], path: Path) -> Edit | None:
    """The unknown key at `path` under the name that it has here."""
    key, here = str(path[-1]), fields_by_key(class_at(root, path[:-1]))
    by_letters = {_letters(name): name for name in here}
    other = certain(root.spellings, path, document.at(path, None))
    new = by_letters.get(_letters(key)) or (other[0] if other is not None and other[1] is None else None)
    if new not in here or path not in document.places or (*path[:-1], new) in document.places:
        return None
    mark = document.place(path).key
    after = _rest(document, mark, key)
    return Edit(mark.line, mark.column, key, new) if after is not None and _END_OF_KEY.match(after) else None


def rewritten(document: Document, root: type[Keys], details: ErrorDetails) -> Edit | None:
    """The value of a wrong type as the one that was meant."""
    path = details["loc"]
    given = document.at(path, details["input"])
    if path not in document.places or holds_secrets(path):
        return None
    place = document.place(path)
    new = _meant(root, details, given, quoted=place.quoted, written=place.written)
    if new is None:
        return None
    for old in (f'"{place.written}"', f"'{place.written}'") if place.quoted else (place.written or "",):
        if _rest(document, place.value, old) is not None:
            return Edit(place.value.line, place.value.column, old, new)
    return None


def _meant(root: type[Keys], details: ErrorDetails, given: Any, *, quoted: bool, written: str | None) -> str | None:
    kind = details["type"]
    if kind == "string_type" and written and not quoted and given is not None:
        return f'"{written}"'
    if type(given) is not str:  # what comes from the environment is none either
        return None
    if kind in _UNQUOTED and quoted:
        return given if type(_read(given)) in _UNQUOTED[kind] else None
    if kind == "bool_type":
        return _WORDS.get(given.lower())
    if kind == "tuple_type" and not quoted:
        return f"[{given}]" if _ONE_ITEM.fullmatch(given) else None
    if kind == "literal_error" and not quoted and given.lower() in _CHOICE.findall(details["ctx"]["expected"]):
        return given.lower()
    other = certain(root.spellings, details["loc"], given)
    return other[1] if other is not None and other[0] == details["loc"][-1] and not quoted else None


def _read(text: str) -> Any:
    try:
        return read_scalar(text)
    except ValueError:  # of more digits than Python converts
        return text


def _letters(key: str) -> str:
    return key.replace("-", "").replace("_", "").lower()


def _rest(document: Document, mark: Mark, old: str) -> str | None:
    """What stands behind `old` in its line, null when something else stands at the place: an alias, a block."""
    line = document.lines[mark.line] if mark.line < len(document.lines) else ""
    return line[mark.column + len(old) :] if old and line.startswith(old, mark.column) else None
