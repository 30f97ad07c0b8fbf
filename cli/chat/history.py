"""What was typed in earlier chats: one file of a user, without secrets, and without what was erased (F63, Z4, Z8)."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Collection, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

MOST_ENTRIES = 1_000
MOST_CHARS = 20_000  # of an entry; a longer one, as a pasted file is, is not worth recalling
_MOST_BYTES = 4_000_000  # of the file that are read, the last ones


@dataclass(frozen=True)
class Entry:
    """A text that was sent, in which session of which place (a project and its database)."""

    place: str
    session: str
    text: str


def history_file() -> Path | None:
    """Where it is: `$XDG_STATE_HOME/agentflow/chat.jsonl`, otherwise in `~/.local/state`; null without a home."""
    try:
        state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    except RuntimeError:  # there is no home
        return None
    return Path(state) / "agentflow" / "chat.jsonl"


def read(file: Path | None) -> list[Entry]:
    """The newest entries, the oldest of them first, without lines that are none; no entry where it cannot be read."""
    try:
        with open(file or os.devnull, "rb") as opened:
            opened.seek(-min(_MOST_BYTES, opened.seek(0, os.SEEK_END)), os.SEEK_END)
            lines = opened.read().decode("utf-8", "replace").split("\n")
    except OSError:
        return []
    return list(_entries(lines))[-MOST_ENTRIES:]


def _entries(lines: list[str]) -> Iterator[Entry]:
    for line in lines:
        try:
            read = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(read, dict) and read.keys() == {"place", "session", "text"}:
            yield Entry(**{name: str(value) for name, value in read.items()})


def add(file: Path | None, entry: Entry, redact: Callable[[str], str]) -> None:
    """Keep an entry without its secrets; where nothing may be written, nothing is kept.

    One write of one line: two chats do not mix theirs.
    """
    if file is None or len(entry.text) > MOST_CHARS:
        return
    line = json.dumps(asdict(Entry(entry.place, entry.session, redact(entry.text)))) + "\n"
    with contextlib.suppress(OSError):
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            os.fchmod(descriptor, 0o600)
            os.write(descriptor, line.encode())
        finally:
            os.close(descriptor)


def forget(file: Path | None, sessions: Collection[str], place: str | None = None) -> None:
    """Take out what was typed in these sessions, of one place or of all: the file is written anew without it."""
    if file is None:
        return
    kept = read(file)
    left = [each for each in kept if each.session not in sessions or place not in (None, each.place)]
    part = file.with_name(f".{file.name}.{os.getpid()}")
    with contextlib.suppress(OSError):
        if len(left) == len(kept) and file.stat().st_size <= _MOST_BYTES:
            return
        part.unlink(missing_ok=True)
        with open(part, "x", encoding="utf-8", opener=_own) as written:
            written.writelines(json.dumps(asdict(each)) + "\n" for each in left)
        part.replace(file)


def _own(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
