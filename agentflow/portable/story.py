"""A session as people read it: what was said on each branch, in order, and what the tools were asked (R12)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from agentflow.clock import Instant, rfc3339
from agentflow.conversation.tree import Branch, Path, Place
from agentflow.media.files import HASH, is_file, part_text
from agentflow.store.portable import Portable, Row


@dataclass(frozen=True, slots=True)
class Asked:
    """A tool call of a message; `outcome` is its state and, where known, how long it took."""

    id: str
    name: str
    arguments: str
    outcome: str


@dataclass(frozen=True, slots=True)
class Said:
    """A message; `note` says what it is besides its role, `pictures` are its `data:` pictures of the safe kinds."""

    id: str
    role: str
    text: str
    at: str
    note: str
    calls: tuple[Asked, ...]
    pictures: tuple[str, ...]


@dataclass(slots=True)
class Strand:
    """Messages that follow each other on a branch; `after` is the message that they fork from, null for a root."""

    number: int
    after: str | None
    agent: str | None
    messages: list[Said] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Story:
    """`path` is the conversation as it stands; `others` are the rest of the tree, branch by branch."""

    facts: list[tuple[str, str]]
    path: list[Said]
    others: list[Strand]


# what can be shown without being able to do anything
_PICTURES = tuple(f"data:image/{kind};base64," for kind in ("png", "jpeg", "gif", "webp"))
_TABLES = ("turn", "step", "execution", "branch", "message", "tool_call", "blob")


def story(session: Portable) -> Story:
    """Reads all rows."""
    rows: dict[str, list[Row]] = {name: [] for name in _TABLES}
    for table, row in session.rows:
        if table in rows and (table != "blob" or HASH.fullmatch(row["hash"])):
            rows[table].append(row)
    return _Telling(session.session, rows).story()


class _Telling:
    def __init__(self, session: Row, rows: dict[str, list[Row]]) -> None:
        self._session = session
        self._rows = rows
        self._by_id = {row["id"]: row for row in rows["message"]}
        self._at = {(row["branch"], row["depth"]): row for row in rows["message"]}
        self._branches = {row["number"]: row for row in rows["branch"]}
        self._runs = {row["number"]: row for row in rows["execution"]}
        self._calls = {(row["execution"], row["id"]): row for row in rows["tool_call"]}
        self._files = {row["hash"]: row["body"] for row in rows["blob"]}
        self._times = {row["number"]: row["created_at"] for row in rows["turn"]}

    def story(self) -> Story:
        on_path = self._path()
        strands: dict[int, Strand] = {}
        for (number, _), row in self._at.items():
            if row["id"] not in on_path:
                strand = strands.setdefault(number, self._strand(number))
                strand.messages.append(self._said(row))
        path = [self._said(self._by_id[id_]) for id_ in on_path]
        return Story(self._facts(), path, list(strands.values()))

    def _path(self) -> list[str]:
        """The ids from the root to the head."""
        by_branch: dict[int, list[tuple[int, str]]] = {}
        for (number, depth), row in self._at.items():
            by_branch.setdefault(number, []).append((depth, row["id"]))
        branch, depth = self._session["branch"], self._session["depth"]
        head = None if branch is None else Place(branch, depth)
        branches = {number: Branch(number, row["parent"], row["fork_depth"]) for number, row in self._branches.items()}
        path = Path.to(branches, head)
        return [
            id_
            for segment in path.segments
            for place, id_ in by_branch.get(segment.branch, ())
            if segment.first <= place <= segment.last
        ]

    def _strand(self, number: int) -> Strand:
        branch = self._branches[number]
        fork = None if branch["parent"] is None else self._at.get((branch["parent"], branch["fork_depth"]))
        run = self._runs.get(branch["execution"])
        return Strand(number, None if fork is None else fork["id"], None if run is None else run["agent"])

    def _said(self, row: Row) -> Said:
        first = self._by_id.get(row["copied_from"], row)
        notes = [
            word
            for word, holds in (
                ("hidden", first["hidden"]),
                ("summary", first["written_as"] == "summary"),
                (f"copy of {row['copied_from']}", row["copied_from"]),
                (f"result of {first['name']}", first["role"] == "tool" and first["name"]),
            )
            if holds
        ]
        calls = tuple(self._asked(first, *call) for call in first["calls"] or ())
        text, pictures = self._content(first)
        return Said(
            row["id"], row["role"], text, _time(self._times.get(row["turn"])), ", ".join(notes), calls, pictures
        )

    def _content(self, message: Row) -> tuple[str, tuple[str, ...]]:
        """The texts of the content with a line for each other part, and the pictures that are in it."""
        if message["parts"] is None:
            return message["content"] or "", ()
        texts: list[str] = []
        pictures: list[str] = []
        for part in message["parts"]:
            address = self._address(part)
            if isinstance(part.get("text"), str):
                texts.append(part["text"])
            elif address.startswith(_PICTURES):
                pictures.append(address)
                texts.append(part_text(part) if is_file(part) else "[picture]")
            elif address and not is_file(part):
                texts.append(f"[{part.get('type')}: {address[:100]}]")
            else:
                texts.append(part_text(part))
        return "\n".join(texts), tuple(pictures)

    def _address(self, part: dict[str, Any]) -> str:
        if is_file(part):
            return f"data:{part.get('media_type')};base64,{self._files.get(part['hash'], '')}"
        held = part.get("image_url")
        address = held.get("url") if isinstance(held, dict) else held
        return address if isinstance(address, str) else ""

    def _asked(self, message: Row, id_: str, name: str, arguments: str) -> Asked:
        call = self._calls.get((message["execution"], id_))
        took = "" if call is None or call["duration_ms"] is None else f", {call['duration_ms']} ms"
        return Asked(id_, name, arguments, "" if call is None else f"{call['status']}{took}")

    def _facts(self) -> list[tuple[str, str]]:
        session = self._session
        return [
            ("session", session["id"]),
            ("name", session["name"] or "-"),
            ("agent", session["agent"]),
            ("environment", session["environment"]),
            ("created", _time(session["created_at"])),
            ("turns", str(session["turns"])),
            ("steps", str(session["steps"])),
            ("state", "running" if session["turn"] is not None else session["outcome"] or "-"),
        ]


def _time(at: Instant | None) -> str:
    return "" if at is None else rfc3339(at)[:19] + "Z"
