"""A file with what is certain about its mistakes mended, the rest of it byte for byte as it was (A2)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from agentflow.config.document.problems import Edit, Problem

_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
"""What ends a line of YAML."""

Look = Callable[[str], Sequence[Problem]]
"""`(text) -> everything that is wrong with it`."""


def mended(text: str, look: Look) -> tuple[str, list[Problem]]:
    """The text with every certain edit made, and the problems that are gone.

    An edit is made only when nothing else is wrong afterwards, but for what a further edit mends.
    """
    gone: list[Problem] = []
    refused = set[Problem]()
    found = look(text)
    while (problem := next((each for each in found if each.edit and each not in refused), None)) is not None:
        tried = edited(text, problem.edit) if problem.edit is not None else None
        left = found if tried is None else look(tried)
        known = {_kind(each) for each in found}
        news = [each for each in left if _kind(each) not in known and each.edit is None]
        if tried is None or news or _kind(problem) in {_kind(each) for each in left}:
            refused.add(problem)
        else:
            text, found = tried, left
            gone.append(problem)
    return text, gone


def edited(text: str, edit: Edit) -> str | None:
    """The text with one edit made; null when something else stands at its place."""
    starts = [0, *(each.end() for each in _BREAK.finditer(text))]
    at = starts[edit.line] + edit.column if edit.line < len(starts) else len(text)
    if not text.startswith(edit.old, at):
        return None
    return text[:at] + edit.new + text[at + len(edit.old) :]


def _kind(problem: Problem) -> tuple[str, str, str]:
    """What stays of a problem when the lines of its file move."""
    return problem.file, problem.key, problem.code
