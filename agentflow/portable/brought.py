"""A file read as a session: checked whole first, then given row by row as often as a database asks for it (R12, Z3)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

from agentflow.bounds.weight import MAX_BYTES
from agentflow.conversation.wire import refuse, shown
from agentflow.portable.checks import Checked, session_row
from agentflow.portable.written import SCHEMA
from agentflow.store.portable import TABLES, Portable, Row
from agentflow.text import read_json


class Brought:
    """A session that a file holds, as `json` or `jsonl`, under its own id or another one.

    `file` can be read from its start again. Making one reads all of it and raises `InvalidInput`, which names the line
    and the field, for anything that is no session of this schema.
    """

    def __init__(self, file: BinaryIO, session_id: str | None = None) -> None:
        self._file = file
        first = _first(file)
        self._tables = None if first.keys() == {"schema", "session"} else _tables(first)
        given = first.get("session")
        if session_id is not None and isinstance(given, dict):
            given = {**given, "id": session_id}
        self.session = session_row(given)
        self.rows = sum(1 for _ in self._checked())

    def open(self) -> Portable:
        """The session from its start."""
        return Portable(self.session, self._checked())

    def _checked(self) -> Iterator[tuple[str, Row]]:
        checked = Checked(self.session)
        for where, table, value in _lines(self._file) if self._tables is None else _listed(self._tables):
            yield table, checked.row(table, value, where)
        checked.end()


def _first(file: BinaryIO) -> dict[str, Any]:
    """The object that has the schema: the first line of JSON Lines, or all of the file."""
    file.seek(0)
    line = _line(file, 1)
    try:
        value = read_json(line)
    except ValueError:
        file.seek(0)
        value = _value(file.read(MAX_BYTES + 1), "file")
    else:
        if isinstance(value, dict) and value.keys() != {"schema", "session"} and file.read(MAX_BYTES).strip():
            refuse("line 1", "must be an object with schema and session when others follow it.")
    if not isinstance(value, dict) or "schema" not in value:
        refuse("schema", f"is missing: an exported session says {SCHEMA!r}.")
    if value["schema"] != SCHEMA:
        refuse("schema", f"must be {SCHEMA!r}, not {shown(value['schema'])}: another agentflow may know it.")
    return value


def _tables(whole: dict[str, Any]) -> dict[str, Any]:
    if whole.keys() != {"schema", "session", "rows"} or not isinstance(whole["rows"], dict):
        refuse("file", "must be an object of schema, session and rows, an object by table.")
    rows: dict[str, Any] = whole["rows"]
    for name in (*sorted(rows.keys() - TABLES.keys()), *sorted(TABLES.keys() - rows.keys())):
        refuse(f"rows.{name}", "is missing." if name in TABLES else "is no table.")
    for name, listed in rows.items():
        if not isinstance(listed, list):
            refuse(f"rows.{name}", "must be a list.")
    return rows


def _listed(tables: dict[str, Any]) -> Iterator[tuple[str, str, Any]]:
    for name in TABLES:
        for index, row in enumerate(tables[name]):
            yield f"rows.{name}[{index}]", name, row


def _lines(file: BinaryIO) -> Iterator[tuple[str, str, Any]]:
    file.seek(0)
    _line(file, 1)
    number = 1
    while line := _line(file, number + 1):
        number += 1
        value = _value(line, f"line {number}")
        if not isinstance(value, dict) or len(value) != 1:
            refuse(f"line {number}", "must be an object with one table and its row.")
        table, row = next(iter(value.items()))
        if table == "end":
            if row != number - 2 or isinstance(row, bool):
                refuse(f"line {number}.end", f"must be {number - 2}, the number of rows before it.")
            if file.read(1):
                refuse(f"line {number + 1}", "nothing follows the line that says end.")
            return
        yield f"line {number}.{table}", table, row
    refuse("file", f"is cut: it ends after line {number}, and no line says end.")


def _line(file: BinaryIO, number: int) -> bytes:
    line = file.readline(MAX_BYTES + 1)
    if len(line) > MAX_BYTES and number > 1:
        refuse(f"line {number}", f"has more than {MAX_BYTES:,} bytes.")
    return line


def _value(text: bytes, where: str) -> Any:
    try:
        return read_json(text)
    except ValueError as error:
        refuse(where, f"is no session as JSON: {error}.")
