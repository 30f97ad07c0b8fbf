"""Saves that belong together, told once, when they are over. Pure: it is shown the files and the time.

Editors save by rename, by delete and create, several files at once, a file several times: what counts is what is there
once nothing moves any more. A file that is gone is waited for longer, for it may only be on its way back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from .files import State

QUIET_SECS = 0.25
GAP_SECS = 1.0
MOST_SECS = 10.0  # what never rests is told all the same


class Burst:
    """Shown again and again what is there; `digest` reads a file."""

    def __init__(self, files: Mapping[Path, State], digest: Callable[[Path], str | None]) -> None:
        self._digest = digest
        self._told = dict(files)
        self._seen = dict(files)
        self._contents = {path: digest(path) for path in files}
        self._began = self._moved = 0.0

    def look(self, files: Mapping[Path, State], at: float) -> frozenset[Path]:
        """The files whose content has changed, appeared or gone, once that has come to rest; empty before, and when
        nothing did. `at` is the time in seconds.
        """
        if files != self._seen:
            if self._seen == self._told:
                self._began = at
            self._seen, self._moved = dict(files), at
        if self._seen == self._told:
            return frozenset()
        quiet = QUIET_SECS if self._told.keys() <= self._seen.keys() else GAP_SECS
        if at - self._moved < quiet and at - self._began < MOST_SECS:
            return frozenset()
        moved = {path for path in {*self._told, *files} if self._told.get(path) != files.get(path)}
        contents = {path: self._digest(path) for path in moved}
        self._told = dict(files)
        changed = {path for path, content in contents.items() if content != self._contents.get(path)}
        self._contents |= contents
        return frozenset(changed)
