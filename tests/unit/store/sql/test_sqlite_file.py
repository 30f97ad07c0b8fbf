"""Z1, Z8: reads leave no trace, foreign files stay as they are, ours are their owner's, what is deleted is gone."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from agentflow import Runtime, StoreError, with_runtime
from agentflow.store.sql.database import open_database
from agentflow.store.sql.schema import prepare
from agentflow.store.sql.sqlite_file import APPLICATION_ID
from agentflow.testing import Kit

CANARY = "the-canary-sings-only-once"


def _plain(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE item (id INTEGER)")


def _in_wal(path: Path) -> None:
    _plain(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")


def _of_alembic(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE alembic_version (version_num TEXT)")
        connection.execute("CREATE TABLE message (id INTEGER)")


def _marked(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA application_id=7")


def _no_database(path: Path) -> None:
    path.write_bytes(b"SQLite format 2" + bytes(200))


def _torn(path: Path) -> None:
    _plain(path)
    path.write_bytes(path.read_bytes()[:16] + os.urandom(3000))


@pytest.mark.parametrize("make", [_plain, _in_wal, _of_alembic, _marked, _no_database, _torn])
@pytest.mark.parametrize("read_only", [True, False])
def test_a_foreign_file_is_refused_and_stays_as_it_is(
    tmp_path: Path, make: Callable[[Path], None], read_only: bool
) -> None:
    """D81: `sessions ls --db any.sqlite` added tables to it."""
    path = tmp_path / "theirs.db"
    make(path)
    before, beside = path.read_bytes(), sorted(tmp_path.iterdir())
    with pytest.raises(StoreError, match="nothing was changed"):
        open_database(f"sqlite:///{path}", read_only=read_only).connect()
    assert (path.read_bytes(), sorted(tmp_path.iterdir())) == (before, beside)


def test_a_new_file_says_whose_it_is_and_belongs_to_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "ours.db"
    database = open_database(f"sqlite:///{path}")
    connection = database.connect()
    prepare(database, connection)
    modes = {each.name: stat.S_IMODE(each.stat().st_mode) for each in tmp_path.iterdir()}
    assert modes == {"ours.db": 0o600, "ours.db-wal": 0o600, "ours.db-shm": 0o600}
    database.release(connection)
    assert int.from_bytes(path.read_bytes()[68:72], "big") == APPLICATION_ID


def test_an_older_file_that_is_ours_has_no_mark_and_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "ours.db"
    database = open_database(f"sqlite:///{path}")
    connection = database.connect()
    prepare(database, connection)
    connection.execute("PRAGMA application_id=0")
    database.release(connection)
    open_database(f"sqlite:///{path}").connect().close()


def _listed(project: Path, db: Path) -> list[str]:
    found = with_runtime(lambda runtime: runtime.sessions(), project, db=str(db), read_only=True)
    return [session["session_id"] for session in found]


def test_reading_makes_no_file_and_changes_none(tmp_path: Path) -> None:
    project = tmp_path / "elsewhere"
    project.mkdir()
    assert _listed(project, project / "none.db") == []
    assert list(project.iterdir()) == []


def test_a_reader_that_stays_sees_what_is_written_meanwhile(tmp_path: Path) -> None:
    """It reads the file as it lies while nobody works on it, and looks again before each use."""

    async def watch(runtime: Runtime) -> list[int]:
        counts = [len(await runtime.sessions())]
        async with Runtime.open(tmp_path, db=str(path)) as writer:
            await writer.run("s-1", "assistant", "Hello.")
            counts.append(len(await runtime.sessions()))
        counts.append(len(await runtime.sessions()))
        return counts

    path = tmp_path / "some.db"
    assert with_runtime(watch, tmp_path, db=str(path), read_only=True) == [0, 1, 1]


def test_nothing_can_be_written_by_who_only_reads(tmp_path: Path) -> None:
    path = tmp_path / "some.db"
    with_runtime(lambda runtime: runtime.run("s-1", "assistant", "Hello."), tmp_path, db=str(path))
    before = path.read_bytes()
    with pytest.raises(StoreError):
        with_runtime(lambda runtime: runtime.stop("s-1"), tmp_path, db=str(path), read_only=True)
    assert path.read_bytes() == before


def test_an_older_file_is_not_upgraded_by_a_read(tmp_path: Path) -> None:
    path = tmp_path / "some.db"
    with_runtime(lambda runtime: runtime.run("s-1", "assistant", "Hello."), tmp_path, db=str(path))
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = '0001'")
    with pytest.raises(StoreError, match="older schema version 0001"):
        _listed(tmp_path, path)


def _says(folder: Path) -> dict[str, bool]:
    return {each.name: CANARY.encode() in each.read_bytes() for each in folder.iterdir() if each.is_file()}


@pytest.mark.parametrize("way", ["delete", "sweep"])
def test_what_is_deleted_is_gone_from_the_file_and_its_log(tmp_path: Path, way: str) -> None:
    """Z8"""
    path = tmp_path / "some.db"

    async def work(runtime: Runtime) -> tuple[bool, bool]:
        await runtime.run("s-1", "assistant", CANARY)
        await runtime.run("s-2", "assistant", "Hello.")
        before = any(_says(tmp_path).values())
        if way == "delete":
            await runtime.delete("s-1")
        else:
            with closing(sqlite3.connect(path)) as file, file:
                file.execute("UPDATE session SET updated_at = 1 WHERE id = 's-1'")
                file.execute("UPDATE event SET at = 1")
            assert (await runtime.records.sweep(older_than="1h"))["deleted"] == ["s-1"]
        return before, any(_says(tmp_path).values())

    assert with_runtime(work, tmp_path, db=str(path)) == (True, False)
    assert not any(_says(tmp_path).values())


def test_what_is_not_observed_is_gone_when_its_turn_has_ended(
    agentflow: Kit, agentflow_db: str, tmp_path: Path
) -> None:
    if not agentflow_db.startswith("sqlite"):
        pytest.skip("Postgres has its files to itself")
    agentflow.agent(replies=[{"text": f"Yes: {CANARY}"}], settings={"observability": False})
    agentflow.send(CANARY)
    said = _says(tmp_path)
    assert any(name.endswith("-wal") for name in said)
    assert not any(said.values())


def test_looking_at_a_file_takes_no_lock_away(tmp_path: Path) -> None:
    """A second connection of a process looks at the file first; the first one's lock must outlive that."""
    path = tmp_path / "some.db"
    database = open_database(f"sqlite:///{path}")
    first = database.connect()
    prepare(database, first)
    first.execute("PRAGMA locking_mode=EXCLUSIVE")
    first.execute("BEGIN IMMEDIATE")
    first.execute("COMMIT")
    with pytest.raises(StoreError, match="locked"):
        open_database(f"sqlite:///{path}").connect()
    other = "import sqlite3, sys; sqlite3.connect(sys.argv[1], timeout=0).execute('SELECT 1 FROM session')"
    done = subprocess.run([sys.executable, "-c", other, str(path)], capture_output=True, text=True, check=False)
    assert "locked" in done.stderr
    first.close()
