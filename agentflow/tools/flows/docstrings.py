"""What a docstring says to the model: all of it up to its parameters, and a text per parameter."""

from __future__ import annotations

import inspect
import re

_SECTIONS = "Args|Arguments|Parameters|Params|Keyword Args|Keyword Arguments|Other Parameters"
_SECTION = re.compile(rf"(?:{_SECTIONS}):?$")
_FOR_PEOPLE = re.compile(rf"(?:{_SECTIONS}|Returns?|Yields?|Raises):?$")  # nothing the model can use follows
_ENTRY = re.compile(r"(?P<name>\*{0,2}\w+)(?:\s*\(.*?\))?\s*:(?:\s+(?P<text>.*)|$)")  # name: text, name (type): text
_FIELD = re.compile(  # :param type name: text
    r"[:@](?:param|parameter|arg|argument|key|keyword)\s(?P<named>[^:]*):(?P<text>.*)"
)
_ANY_FIELD = re.compile(r"[:@]\w+(?:\s[^:]*)?:")
_SHAPED = re.compile(r"[-*+>|]\s|\d+[.)]\s|```")
_UNDERLINE = re.compile(r"-{3,}$")


def description(docstring: str | None) -> str:
    """The docstring up to its sections of parameters, results and errors, or its field list: lines of a paragraph
    joined, paragraphs and lists as they stand.
    """
    kept: list[str] = []
    for line in inspect.cleandoc(docstring or "").splitlines():
        if _ANY_FIELD.match(line) or (_FOR_PEOPLE.match(line.rstrip()) and not _indent(line)):
            break
        kept.append(line.rstrip())
    paragraphs = "\n".join(kept).strip("\n").split("\n\n")
    return "\n\n".join(_flowing(paragraph) for paragraph in paragraphs if paragraph.strip())


def _flowing(paragraph: str) -> str:
    """A paragraph on one line; lists, code and what is indented keep their lines."""
    lines = paragraph.splitlines()
    shaped = any(_indent(line) or _SHAPED.match(line) for line in lines)
    return "\n".join(lines).strip("\n") if shaped else " ".join(line.strip() for line in lines)


def parameter_texts(docstring: str | None) -> dict[str, str]:
    """What the docstring says about each parameter, in Google, NumPy, `:param name:` or `@param name:` style."""
    lines = inspect.cleandoc(docstring or "").splitlines()
    texts: dict[str, str] = {}
    for number, line in enumerate(lines):
        if (match := _FIELD.match(line.strip())) and match["named"].strip():
            texts[match["named"].split()[-1]] = _joined(
                match["text"].strip(), lines[number + 1 :], indent=_indent(line)
            )
        elif _SECTION.match(line.strip()):
            numpy = number + 1 < len(lines) and _UNDERLINE.match(lines[number + 1].strip())
            texts |= _numpy(lines[number + 2 :]) if numpy else _google(lines[number + 1 :], _indent(line))
    return texts


def _google(lines: list[str], indent: int) -> dict[str, str]:
    texts: dict[str, str] = {}
    entry_indent: int | None = None
    for number, line in enumerate(lines):
        if not line.strip():
            continue
        if _indent(line) <= indent:
            break
        entry_indent = _indent(line) if entry_indent is None else entry_indent
        if _indent(line) == entry_indent and (match := _ENTRY.match(line.strip())):
            texts[match["name"].lstrip("*")] = _joined(match["text"] or "", lines[number + 1 :], indent=entry_indent)
    return {name: text for name, text in texts.items() if text}


def _numpy(lines: list[str]) -> dict[str, str]:
    texts: dict[str, str] = {}
    for number, line in enumerate(lines):
        if _UNDERLINE.match(line.strip()):
            texts.pop(lines[number - 1].strip(), None)
            break
        if line.strip() and not _indent(line):
            text = _joined("", lines[number + 1 :], indent=0)
            names = line.partition(":")[0].strip()
            texts |= dict.fromkeys((name.strip().lstrip("*") for name in names.split(",")), text)
    return {name: text for name, text in texts.items() if text}


def _joined(first: str, following: list[str], indent: int) -> str:
    """The first line and those indented deeper after it, as one line; blank lines between them do not end it."""
    parts = [first.strip()]
    for line in following:
        if line.strip() and _indent(line) <= indent:
            break
        parts.append(line.strip())
    return " ".join(part for part in parts if part)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
