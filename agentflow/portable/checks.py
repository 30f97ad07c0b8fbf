"""What a file says a session is, checked row by row while it is read: nothing is believed for standing there (R12).

Every field has its type and words, numbers stay within the session's counters, ids are there once, branches hang on
earlier ones, copies on originals, texts have the hashes they go by, and a summary is one that the log tells of (Z6).
Ids and places alone are remembered from row to row.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agentflow import events
from agentflow.conversation import arguments
from agentflow.conversation.wire import inside, message_of, refuse
from agentflow.errors import InvalidInput
from agentflow.media.files import is_body_of
from agentflow.message import TurnState
from agentflow.store.damage.fields import misfit
from agentflow.store.damage.shapes import misshapen
from agentflow.store.damage.words import COUNTED_BY
from agentflow.store.portable import SESSION, TABLES, Column, Row
from agentflow.text import digest

_UNDERWAY = (TurnState.IDLE, TurnState.RUNNING)


def session_row(value: Any) -> Row:
    """The session's own row. Raises `InvalidInput`."""
    row = _row(SESSION, value, "session", "session")
    arguments.session_id(row["id"])
    if (row["branch"] is None) != (row["depth"] is None):
        refuse("session.depth", "a head has a branch and a depth, or neither.")
    return row


class Checked:
    """The rows of one session, each given to `row` in the order of the file, and `end` when there are no more."""

    def __init__(self, session: Row) -> None:
        self._session = session
        self._last: tuple[int, tuple[Any, ...]] = (-1, ())
        self._order = {name: index for index, name in enumerate(TABLES)}
        self._turns: dict[str, str] = {}  # id -> state
        self._running: list[int] = []
        self._branches: set[int] = set()
        self._forks: dict[int, int] = {}  # branch -> its parent
        self._fork_depths: dict[int, int] = {}
        self._copies: list[tuple[str, str]] = []  # the message that each is a copy of, and where it stands
        self._places: set[tuple[int, int]] = set()
        self._originals: dict[str, bool] = {}  # message id -> whether it is no copy
        self._summaries: set[str | None] = set()
        self._waiting = 0
        self._blobs: set[str] = set()
        self._renamed: dict[str, str] = {}  # whose hash is not that of the body, which goes for configurations alone
        self._configs: set[str] = set()
        self._data: set[str] = set()
        self._looks: Mapping[str, Callable[[Row, str], None]] = {
            "blob": self._blob, "turn": self._turn, "event": self._event, "execution": self._execution,
            "branch": self._branch, "message": self._message, "queue_entry": self._queued,
            "snapshot": self._snapshot, "snapshot_data": self._snapshot_data,
        }  # fmt: skip

    def row(self, name: Any, value: Any, where: str) -> Row:
        """The row, checked by itself and against those before it. Raises `InvalidInput`."""
        table = TABLES.get(name) if isinstance(name, str) else None
        if table is None:
            refuse(where, f"there is no table {name!r}; they are {', '.join(TABLES)}.")
        row = _row(table.columns, value, where, name)
        self._in_order(name, tuple(row[column] for column in table.key), where)
        for column, wanted in misshapen(name, row):
            refuse(f"{where}.{column}", f"must be {wanted}.")
        self._counted(row, where)
        self._configs.add(row.get("config_hash", ""))
        for column in ("prompt_hash", "tools_hash"):
            if row.get(column) in self._renamed:
                refuse(f"{self._renamed[row[column]]}.hash", "must be the hash of the body.")
        look = self._looks.get(name)
        if look is not None:
            look(row, where)
        return row

    def end(self) -> None:
        """What only the whole session shows. Raises `InvalidInput`."""
        session = self._session
        head = (session["branch"], session["depth"])
        if head != (None, None) and head not in self._places:
            refuse("session.branch", "the head is at a message that is not there.")
        if self._running != ([] if session["turn"] is None else [session["turn"]]):
            refuse("session.turn", f"must be the turn that runs, of which there are {len(self._running)}.")
        for original, where in self._copies:
            if not self._originals.get(original):
                refuse(f"{where}.copied_from", "must be a message of the session that is no copy itself.")
        for hash_ in self._renamed.keys() - self._configs:
            refuse(f"{self._renamed[hash_]}.hash", "must be the hash of the body.")
        if session["queued"] != self._waiting:
            refuse("session.queued", f"must be {self._waiting}, as many inputs wait.")

    def _in_order(self, name: str, key: tuple[Any, ...], where: str) -> None:
        place = (self._order[name], key)
        if place <= self._last:
            refuse(where, f"rows must be in order and there once; this one of {name} comes after {self._last[1]}.")
        self._last = place

    def _counted(self, row: Row, where: str) -> None:
        for column, counter in COUNTED_BY.items():
            if row.get(column) is not None and row[column] > self._session[counter]:
                refuse(f"{where}.{column}", f"must be at most session.{counter}, {self._session[counter]}.")

    def _blob(self, row: Row, where: str) -> None:
        if digest(row["body"]) != row["hash"] and not is_body_of(row["body"], row["hash"]):
            self._renamed[row["hash"]] = where
        self._blobs.add(row["hash"])

    def _turn(self, row: Row, where: str) -> None:
        self._count(row["number"], "turns", where)
        _once(row["id"], self._turns, f"{where}.id")
        self._turns[row["id"]] = row["state"]
        if row["state"] in _UNDERWAY:
            self._running.append(row["number"])
        if row["config_hash"] and row["config_hash"] not in self._blobs:
            refuse(f"{where}.config_hash", "there is no blob with this hash.")

    def _execution(self, row: Row, where: str) -> None:
        self._count(row["number"], "executions", where)
        _earlier(row, where)

    def _event(self, row: Row, where: str) -> None:
        if row["type"] == events.CONTEXT_REPLACED:
            self._summaries.add(row["ref"])

    def _branch(self, row: Row, where: str) -> None:
        self._count(row["number"], "branches", where)
        _earlier(row, where)
        if row["parent"] is not None:
            if row["parent"] not in self._branches:
                refuse(f"{where}.parent", "there is no such branch.")
            self._forks[row["number"]] = row["parent"]
        self._branches.add(row["number"])
        self._fork_depths[row["number"]] = row["fork_depth"]

    def _message(self, row: Row, where: str) -> None:
        branch, depth = row["branch"], row["depth"]
        if branch not in self._branches:
            refuse(f"{where}.branch", "there is no such branch.")
        fork = self._fork_depths[branch]
        if depth <= fork:
            refuse(f"{where}.depth", f"must be more than the branch's fork_depth, {fork}.")
        parent = self._forks.get(branch)
        if parent is not None and fork > self._fork_depths[parent] and (parent, fork) not in self._places:
            refuse(f"{where}.branch", "the branch forks from a message that is not there.")
        _once(row["id"], self._originals, f"{where}.id")
        self._places.add((branch, depth))
        self._originals[row["id"]] = row["copied_from"] is None
        self._copied(row, where)
        if row["written_as"] == "summary" and row["copied_from"] is None and row["id"] not in self._summaries:
            refuse(f"{where}.written_as", "the log tells of no compaction with this summary.")
        if row["parts"] is not None:
            _part(row, where)

    def _copied(self, row: Row, where: str) -> None:
        if row["copied_from"] is None:
            return
        if any(row[column] is not None for column in ("content", "parts", "calls", "provider")):
            refuse(f"{where}.copied_from", "a copy has no content of its own.")
        self._copies.append((row["copied_from"], where))

    def _count(self, number: int, counter: str, where: str) -> None:
        if not 0 < number <= self._session[counter]:
            refuse(f"{where}.number", f"must be 1 to session.{counter}, {self._session[counter]}.")

    def _queued(self, row: Row, where: str) -> None:
        self._waiting += 1

    def _snapshot_data(self, row: Row, where: str) -> None:
        self._data.add(row["hash"])

    def _snapshot(self, row: Row, where: str) -> None:
        if row["hash"] is not None and row["hash"] not in self._data:
            refuse(f"{where}.hash", "there is no snapshot_data with this hash.")


def _once(id_: str, known: Mapping[str, Any], where: str) -> None:
    if not id_ or id_ in known:
        refuse(
            where, f"must not be empty and be there once; {id_!r} is there already." if id_ else "must not be empty."
        )


def _earlier(row: Row, where: str) -> None:
    if row["parent"] is not None and not 0 < row["parent"] < row["number"]:
        refuse(f"{where}.parent", "must be a lower number than its own.")


def _part(row: Row, where: str) -> None:
    """Parts are what an input may hold, addresses too (Z10)."""
    try:
        message_of({"role": "user", "content": row["parts"]}, may_be_blank=True)
    except InvalidInput as refused:
        raise inside(f"{where}.parts", refused) from None


def _row(columns: Sequence[Column], value: Any, where: str, table: str) -> Row:
    if not isinstance(value, dict):
        refuse(where, "must be an object.")
    names = {column.name for column in columns}
    for name in (*sorted(value.keys() - names), *sorted(names - value.keys())):
        refuse(f"{where}.{name}", "is missing." if name in names else "is not a field of it.")
    return {column.name: _field(column, value[column.name], where, table) for column in columns}


def _field(column: Column, value: Any, where: str, table: str) -> Any:
    """The value as the database will have it: JSON has no bytes, they come as base64."""
    field = f"{where}.{column.name}"
    if column.kind == "bytes" and value is not None:
        try:
            value = base64.b64decode(value, validate=True)
        except (TypeError, ValueError):
            refuse(field, "must be base64.")
    wanted = misfit(table, column, value)
    if wanted is not None:
        refuse(field, f"must be {wanted}.")
    return value
