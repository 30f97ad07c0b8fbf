"""A log that is the same in every run: ids renamed in the order they appear, times relative, durations left out."""

from __future__ import annotations

import difflib
import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from agentflow import Event, clock

_KINDS = {"turn_id": "turn", "config_hash": "config", "summary_id": "message", "parent_id": "message"}
_NAMES = ("agent_id", "session_id")
"""Keys that end like an id and are chosen by people."""


class _Renamed:
    """Each id with a name of its own, from when it is first met."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._counts: Counter[str] = Counter()

    def value(self, value: Any, kind: str = "id") -> Any:
        if isinstance(value, dict):
            return {
                key: self._named(key, each, kind) for key, each in value.items() if not key.endswith(("_ms", "_at"))
            }
        return [self.value(each, kind) for each in value] if isinstance(value, list) else value

    def _named(self, key: str, value: Any, kind: str) -> Any:
        is_id = key in _KINDS or key == "id" or (key.endswith("_id") and key not in _NAMES)
        if is_id and isinstance(value, str):
            return self.name(value, _KINDS.get(key, kind))
        return self.value(value, "message" if key == "message" else "call" if key == "tool_calls" else kind)

    def name(self, id_: str, kind: str) -> str:
        if id_ not in self._names:
            self._counts[kind] += 1
            self._names[id_] = f"{kind}-{self._counts[kind]}"
        return self._names[id_]


def golden_log(events: Iterable[Event]) -> str:
    """The events as JSON lines `{at, type, turn, data}`; `at` in seconds since the first one."""
    renamed, lines, first = _Renamed(), [], None
    for event in events:
        first = event.at if first is None else first
        turn = None if event.turn_id is None else renamed.name(event.turn_id, "turn")
        told = {
            "at": (event.at - first) / clock.SECOND,
            "type": event.type,
            "turn": turn,
            "data": renamed.value(event.data, "call" if event.type.startswith("tool.") else "id"),
        }
        lines.append(json.dumps(told, ensure_ascii=False))
    return "".join(f"{line}\n" for line in lines)


def compare(text: str, path: Path) -> None:
    """Raises `AssertionError` with the difference, also after writing a file that was not there."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        raise AssertionError(f"{path} was not there and has been written; look at it, and run the test again.")
    kept = path.read_text("utf-8")
    lines = difflib.unified_diff(kept.splitlines(), text.splitlines(), str(path), "this run", lineterm="", n=1)
    assert text == kept, "the log is another one; delete the file to have it anew\n" + "\n".join(lines)
