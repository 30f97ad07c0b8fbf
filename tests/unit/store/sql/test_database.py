"""URLs, settings and the sentences of a database that cannot be used (R1, R2)."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from agentflow.errors import InvalidInput, StoreError
from agentflow.store.sql.database import open_database


def pragma(url: str, name: str) -> object:
    database = open_database(url)
    connection = database.connect()
    try:
        return connection.execute(f"PRAGMA {name}").fetchone()[0]
    finally:
        database.release(connection)
        database.close()


@pytest.mark.parametrize(
    ("name", "value"), [("journal_mode", "wal"), ("synchronous", 2), ("busy_timeout", 15_000), ("foreign_keys", 1)]
)
def test_each_sqlite_connection_has_the_settings(tmp_path: Path, name: str, value: object) -> None:
    """R2, B52."""
    assert pragma(f"sqlite:///{tmp_path / 'x.db'}", name) == value


def test_synchronous_normal_is_an_option(tmp_path: Path) -> None:
    assert pragma(f"sqlite:///{tmp_path / 'x.db'}?synchronous=normal", "synchronous") == 1


def test_a_path_may_be_absolute_quoted_or_relative(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pragma("sqlite:///relative.db", "user_version")
    pragma(f"sqlite:///{tmp_path}/with%20blank.db", "user_version")
    assert {path.name for path in tmp_path.glob("*.db")} == {"relative.db", "with blank.db"}


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:"])
def test_in_memory_every_connection_is_the_same(url: str) -> None:
    database = open_database(url)
    assert database.connect() is database.connect()
    database.close()


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("mysql://host/name", "is not understood"),
        ("sessions.db", "is not understood"),
        ("sqlite:///x.db?synchronous=off", "synchronous=full or normal"),
        ("sqlite:///x.db?mode=ro", "unknown option"),
        ("sqlite://x.db", "three slashes: sqlite:///x.db"),
    ],
)
def test_a_url_that_names_no_database_of_ours_is_refused(url: str, told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        open_database(url)


@pytest.mark.parametrize(
    "url", ["postgres://me:s3cret@host/name", "mysql://me:p@ss:s3cret/@host/name?x=1", "redis://:s3cret@host"]
)
def test_a_refused_url_is_shown_without_its_password(url: str) -> None:
    """A3: secrets never appear in errors."""
    with pytest.raises(InvalidInput, match=r"://\*\*\*@host") as refused:
        open_database(url)
    assert "s3cret" not in str(refused.value)


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"there is no folder .*no-folder"):
        open_database(f"sqlite:///{tmp_path}/no-folder/x.db")


def test_a_folder_is_no_database(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"is a folder; name a file in it, such as .*/agentflow\.db"):
        open_database(f"sqlite:///{tmp_path}")


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.db").write_text("certainly not a database, but long enough to have a header" * 20)
    with pytest.raises(StoreError, match="cannot be opened"):
        open_database(f"sqlite:///{tmp_path}/x.db").connect()


def test_postgres_without_its_driver_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(StoreError, match=r"agentflow-sessions\[postgres\]"):
        open_database("postgresql+psycopg://host/name").connect()


def test_a_postgres_server_that_is_away_is_a_store_error() -> None:
    pytest.importorskip("psycopg")
    with pytest.raises(StoreError, match="cannot be reached"):
        open_database("postgresql+psycopg://nobody@127.0.0.1:1/none").connect()
