"""Z1: a SQLite file that is broken, or made to hurt, ends in a sentence: no fault, no loop, no change by a read."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.damaged.cases import Bench
from tests.damaged.project import make

ENDLESS = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r)"


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    folder = tmp_path_factory.mktemp("hostile")
    make(folder)
    return Bench(folder)


@pytest.fixture(autouse=True)
def nobody_types(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", None)


def sql(*statements: str) -> Callable[[Path], None]:
    def change(file: Path) -> None:
        with closing(sqlite3.connect(file, isolation_level=None)) as connection:
            connection.execute("PRAGMA foreign_keys=OFF")
            for statement in statements:
                connection.execute(statement)

    return change


def cut(length: int) -> Callable[[Path], None]:
    return lambda file: file.write_bytes(file.read_bytes()[:length]) and None


def bytes_changed(seed: int, count: int, length: int = 1) -> Callable[[Path], None]:
    """Here and there behind the header."""

    def change(file: Path) -> None:
        data, chance = bytearray(file.read_bytes()), random.Random(seed)
        for _ in range(count):
            at = chance.randrange(100, len(data) - length)
            data[at : at + length] = chance.randbytes(length)
        file.write_bytes(data)

    return change


def stamped(version: str) -> Callable[[Path], None]:
    return sql(f"UPDATE alembic_version SET version_num = {version}")


# a file, and what is said of it; null where some commands may find nothing wrong
FILES: dict[str, tuple[Callable[[Path], None], str | None]] = {
    "cut in a page": (cut(50_000), "malformed"),
    "only its first page": (cut(4096), "malformed"),
    "pages of noise": (bytes_changed(1, 3, 4096), None),
    "more pages of noise": (bytes_changed(2, 3, 4096), None),
    "bytes changed": (bytes_changed(1, 200), None),
    "other bytes changed": (bytes_changed(5, 400), None),
    "a schema that is no text": (
        sql("PRAGMA writable_schema=ON", "UPDATE sqlite_master SET sql = CAST(x'ff00fe' AS TEXT) WHERE name = 'turn'"),
        "cannot be opened",
    ),
    "a trigger": (sql("CREATE TRIGGER x AFTER INSERT ON turn BEGIN DELETE FROM message; END"), "trigger 'x'"),
    "a view without an end": (
        sql("ALTER TABLE event RENAME TO e", f"CREATE VIEW event AS {ENDLESS} SELECT n AS seq FROM r"),
        "view 'event'",
    ),
    "a view in capitals": (
        sql("ALTER TABLE blob RENAME TO b", f"CREATE VIEW BLOB AS {ENDLESS} SELECT n AS session_key FROM r"),
        "view 'blob'",
    ),
    "a virtual table": (
        sql("DROP TABLE feedback", "CREATE VIRTUAL TABLE feedback USING fts5(session_key, step, rating, comment, at)"),
        "table 'feedback'",
    ),
    "a table that is gone": (sql("DROP TABLE message"), "no such table"),
    "a column that is gone": (sql("ALTER TABLE step DROP COLUMN opened_at"), None),
    "tables without keys": (
        sql(
            "CREATE TABLE s AS SELECT * FROM session", "INSERT INTO s SELECT * FROM session", "DROP TABLE session",
            "ALTER TABLE s RENAME TO session",
        ),
        None,
    ),
    "a newer version": (stamped("'9999'"), "newer than this agentflow's"),
    "a version that is none": (stamped("x'00ff'"), "newer than this agentflow's"),
    "an older version than it is": (stamped("'0001'"), None),
    "a version between ours": (stamped("'0002x'"), None),
    "a stamp of other columns": (
        sql("DROP TABLE alembic_version", "CREATE TABLE alembic_version (x TEXT)"), "no such column"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_it_ends_in_a_sentence(bench: Bench, name: str) -> None:
    change, said_of_it = FILES[name]
    db = bench.copy()
    change(db)
    before = db.read_bytes()
    for command in ("ls", "show", "events", "export json", "run", "stop"):
        said = bench.run(command, db)
        assert said.fault is None, said.err
        assert said.code in (0, 1, 3, 5), said.err
        if said_of_it is not None:
            assert (said.code, said_of_it in said.err) == (1, True), said.err
    assert db.read_bytes() == before
    assert sorted(path.name for path in bench.folder.glob("damaged.db*")) == ["damaged.db"]
