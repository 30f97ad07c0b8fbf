"""Damage, and what each command says of it."""

from __future__ import annotations

import contextlib
import io
import json
import re
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from agentflow.store.sql.tables import Base
from cli.main import run

VALUES = {
    "null": "NULL",
    "a word": "'x'",
    "no text": "''",
    "bytes": "x'00ff'",
    "half a list": "'[{'",
    "a number in JSON": "'7'",
    "an object in JSON": "'{\"a\": [1]}'",
    "a list in JSON": "'[[1], null]'",
    "a fraction": "1.5",
    "less than nothing": "-1",
    "a number of nothing": "4711",
    "the largest": "9223372036854775807",
    "no UTF-8": "CAST(x'ff00fe' AS TEXT)",
    "its own number": "number",
    "the next number": "number + 1",
    "its own id": "id",
}
READING = {
    "ls": ("sessions", "ls"),
    "ls --json": ("sessions", "ls", "--json"),
    "insights": ("insights",),
    "insights --by tool": ("insights", "--by", "tool", "--json"),
    "cleanup": ("cleanup", "--dry-run", "--older-than", "1h"),
    "show": ("sessions", "show", "rich"),
    "show --all": ("sessions", "show", "compact", "--all", "--json"),
    "show asks": ("sessions", "show", "asks"),
    "show paints": ("sessions", "show", "paints", "--json"),
    "tree": ("sessions", "tree", "compact"),
    "export": ("sessions", "export", "rich"),
    "export json": ("sessions", "export", "rich", "--format", "json"),
    "snapshots": ("sessions", "snapshots", "rich", "--show", "1"),
    "events": ("events", "rich"),
    "events compact": ("events", "compact"),
    "events paints": ("events", "paints"),
    "trace": ("trace", "rich"),
    "trace 1": ("trace", "rich", "--turn", "1"),
    "trace 1 --json": ("trace", "rich", "--turn", "1", "--json"),
    "trace worked": ("trace", "worked", "--json"),
    "request": ("trace", "rich", "--turn", "1", "--request", "2"),
    "explain": ("explain", "rich", "-s", "rich"),
}
WRITING = {
    "run": ("run", "rich", "work now", "-s", "rich", "--json"),
    "run compact": ("run", "compact", "five " * 30, "-s", "compact", "--jsonl"),
    "run worked": ("run", "worked", "hello", "-s", "worked"),
    "run dead": ("run", "helper", "hello", "-s", "dead"),
    "answer": ("answer", "asks", "That one."),
    "submit": ("submit", "paints", "--input", "result.json"),
    "stop": ("stop", "asks"),
    "run-queue": ("sessions", "run-queue", "paints"),
    "name": ("sessions", "name", "rich", "A name"),
    "feedback": ("sessions", "feedback", "rich", "1", "up"),
    "rm": ("sessions", "rm", "rich"),
    "checkout": ("sessions", "checkout", "rich", "FIRST"),
}
COMMANDS = READING | WRITING
_NEVER = re.compile(r"Traceback|internal_error|agentflow failed")


@dataclass(frozen=True)
class Damage:
    table: str
    column: str
    value: str

    def __str__(self) -> str:
        return f"{self.table}.{self.column} = {VALUES[self.value]}"


def damages() -> Iterator[Damage]:
    """Each wrong value in each column."""
    for table in Base.metadata.sorted_tables:
        for column in table.columns:
            for value in VALUES:
                yield Damage(table.name, column.name, value)


def inflict(file: Path, damage: Damage) -> bool:
    """Write the value into the column of every row that can hold it; whether any could."""
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("PRAGMA foreign_keys=OFF")
        connection.execute("PRAGMA synchronous=OFF")
        value = VALUES[damage.value]
        text = f'UPDATE OR IGNORE "{damage.table}" SET "{damage.column}" = {value}'
        with contextlib.suppress(sqlite3.IntegrityError, sqlite3.OperationalError):  # no such column here
            return connection.execute(text).rowcount > 0
    return False


def loosen(file: Path) -> None:
    """Let every column be null that the database itself does not need: who made the file chose its tables."""
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("PRAGMA writable_schema=ON")
        connection.execute("UPDATE sqlite_master SET sql = replace(sql, 'NOT NULL', '') WHERE type = 'table'")


@dataclass(frozen=True)
class Said:
    code: int
    out: str
    err: str

    @property
    def fault(self) -> str | None:
        """What nobody may be told of a database."""
        found = _NEVER.search(self.out) or _NEVER.search(self.err)
        return None if found is None else found[0]


def command(args: tuple[str, ...], project: Path, db: Path, first: str) -> Said:
    """The command line in this process, on the project with this database."""
    out, err = io.StringIO(), io.StringIO()
    named = [first if each == "FIRST" else str(project / each) if each == "result.json" else each for each in args]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run([*named, "--project", str(project), "--db", str(db)])
    return Said(int(code), out.getvalue(), err.getvalue())


class Bench:
    """A project and its database, from which each case starts anew."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.whole = folder / "whole.db"
        shutil.move(folder / "agentflow.db", self.whole)
        loosen(self.whole)
        with closing(sqlite3.connect(self.whole)) as connection:
            connection.execute("PRAGMA journal_mode=DELETE")
            self.first = connection.execute("SELECT min(id) FROM message").fetchone()[0]
            (call,) = connection.execute("SELECT id FROM tool_call WHERE name = 'paint'").fetchone()
        result = {"role": "tool", "tool_call_id": call, "content": "done"}
        (folder / "result.json").write_text(json.dumps({"type": "client.append", "messages": [result]}))

    def copy(self, source: Path | None = None) -> Path:
        """A fresh copy, without what the last one left beside it."""
        path = self.folder / ("damaged.db" if source is None else "used.db")
        for suffix in ("", "-wal", "-shm", "-journal"):
            Path(f"{path}{suffix}").unlink(missing_ok=True)
        shutil.copyfile(source or self.whole, path)
        return path

    def run(self, name: str, db: Path) -> Said:
        """A command on the database; one that writes gets a copy of it."""
        return command(COMMANDS[name], self.folder, db if name in READING else self.copy(db), self.first)
