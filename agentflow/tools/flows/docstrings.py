"""What a docstring says to the model: its first paragraph, and a line per parameter."""

from __future__ import annotations

import inspect
import re

_SECTION = re.compile(r"(?:Args|Arguments|Parameters|Params):?$")
_ENTRY = re.compile(r"(?P<name>\*{0,2}\w+)(?:\s*\([^)]*\))?\s*:\s*(?P<text>.*)")  # name: text, name (type): text
_FIELD = re.compile(r":param\s+(?:[^:]*\s)?(?P<name>\w+)\s*:\s*(?P<text>.*)")  # :param type name: text
_UNDERLINE = re.compile(r"-{3,}$")


def first_paragraph(docstring: str | None) -> str:
    """The text before the first blank line or field list, as one line; empty without a docstring."""
    lines: list[str] = []
    for line in inspect.cleandoc(docstring or "").splitlines():
        if not line.strip() or line.startswith(":param") or _SECTION.match(line.strip()):
            break
        lines.append(line.strip())
    return " ".join(lines)


def parameter_texts(docstring: str | None) -> dict[str, str]:
    """What the docstring says about each parameter, in Google, NumPy or `:param name:` style."""
    lines = inspect.cleandoc(docstring or "").splitlines()
    texts: dict[str, str] = {}
    for number, line in enumerate(lines):
        if match := _FIELD.match(line.strip()):
            texts[match["name"]] = _joined(match["text"], lines[number + 1 :], indent=_indent(line))
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
            texts[match["name"]] = _joined(match["text"], lines[number + 1 :], indent=entry_indent)
    return texts


def _numpy(lines: list[str]) -> dict[str, str]:
    texts: dict[str, str] = {}
    for number, line in enumerate(lines):
        if _UNDERLINE.match(line.strip()):
            texts.pop(lines[number - 1].strip(), None)
            break
        if line.strip() and not _indent(line):
            texts[re.split(r"\s*:", line.strip(), maxsplit=1)[0]] = _joined("", lines[number + 1 :], indent=0)
    return {name: text for name, text in texts.items() if text}


def _joined(first: str, following: list[str], indent: int) -> str:
    """The first line and those indented deeper right after it, as one line."""
    parts = [first.strip()]
    for line in following:
        if not line.strip() or _indent(line) <= indent:
            break
        parts.append(line.strip())
    return " ".join(part for part in parts if part)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
