"""Files of the command line as parts of a message: only here does a path become one (W4, Z2)."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

MAX_BYTES = 20_000_000


def content(text: str, files: Sequence[dict[str, Any]]) -> str | list[dict[str, Any]]:
    """The content of a message: the text alone, or with files, as parts, after it."""
    if not files:
        return text
    said = [{"type": "text", "text": text}] if text.strip() else []
    return [*said, *files]


def part_of(path: Path) -> dict[str, Any]:
    """A regular file as a part; what it is, its bytes say. Raises `UsageError`."""
    if not path.is_file():
        raise click.UsageError(f"--attach {path}: there is no such file")
    if path.stat().st_size > MAX_BYTES:
        raise click.UsageError(f"--attach {path}: a file may have {MAX_BYTES:,} bytes")
    with path.open("rb") as file:
        data = file.read(MAX_BYTES + 1)
    return {"type": "file", "name": path.name, "data": base64.b64encode(data).decode()}
