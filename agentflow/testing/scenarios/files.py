"""Where the `*.test.yaml` are."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from agentflow import InvalidInput

SUFFIX = ".test.yaml"
_LEFT_OUT = ("node_modules", "__pycache__")


def scenario_files(paths: Iterable[str | Path]) -> list[Path]:
    """The files that the paths name: themselves, or all below a folder but in hidden ones, sorted.

    Raises `InvalidInput` for a path that is neither.
    """
    found: dict[Path, Path] = {}
    for path in map(Path, paths):
        if path.is_dir():
            found.update((each.resolve(), each) for each in _below(path))
        elif path.is_file() and path.name.endswith(SUFFIX):
            found[path.resolve()] = path
        else:
            why = f"its name does not end in {SUFFIX}" if path.exists() else "there is no such file or folder"
            raise InvalidInput(f"{path}: {why}.", detail={"field": "path"})
    return sorted(found.values())


def _below(folder: Path) -> Iterator[Path]:
    for parent, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".") and name not in _LEFT_OUT]
        yield from (Path(parent) / name for name in files if name.endswith(SUFFIX))
