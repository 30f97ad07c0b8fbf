"""The files of a project that somebody writes, as they are now, and nothing that agentflow makes."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

State = tuple[int, int, int, int]
"""Time of the last change, size, device and inode: saving by rename changes the last, where nothing else does."""

SUFFIXES = frozenset({".json", ".md", ".py", ".txt", ".yaml", ".yml"})
_MADE = frozenset({"__pycache__", "build", "dist", "node_modules"})


def watched(root: Path) -> dict[Path, State]:
    """Every file below `root` that an author writes, links followed; hidden ones, databases, environments and what
    tools make are left out. One that is gone again while it is looked at is not there.
    """
    found: dict[Path, State] = {}
    seen = set[tuple[int, int]]()
    waiting = [root]
    while waiting:
        folder = waiting.pop()
        try:
            at = folder.stat()
            entries = list(os.scandir(folder))
        except OSError:
            continue
        names = {entry.name for entry in entries}
        if (at.st_dev, at.st_ino) in seen or "pyvenv.cfg" in names:
            continue
        seen.add((at.st_dev, at.st_ino))
        for entry in entries:
            if entry.name.startswith(".") or entry.name in _MADE:
                continue
            path = folder / entry.name
            if _is_folder(entry):
                waiting.append(path)
            elif path.suffix in SUFFIXES and (state := _state(path)) is not None:
                found[path] = state
    return found


def digest(path: Path) -> str | None:
    """What is in a file, null when it is gone."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return None


def texts(paths: Mapping[Path, object]) -> dict[Path, str]:
    """The texts of files; what cannot be read as one is empty."""
    return {path: _text(path) for path in paths}


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace")
    except OSError:
        return ""


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that leads to itself
        return False


def _state(path: Path) -> State | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_dev, found.st_ino
