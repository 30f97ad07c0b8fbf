"""The condition of a database is told without changing it, on a file and on Postgres (R1)."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentflow.health.check import Check
from agentflow.health.database import database_checks
from agentflow.store.sql import condition
from agentflow.store.sql.database import open_database
from agentflow.store.sql.schema import LOCK, upgrade

Change = Callable[[str], Any]


@pytest.fixture(params=["file", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgres":
        return str(request.getfixturevalue("postgres_url"))
    return f"sqlite:///{tmp_path / 'sessions.db'}"


def told(url: str) -> dict[str, Check]:
    found = list(database_checks(url))
    assert all((each.fix is not None) == (each.state in ("failed", "warning")) for each in found)
    return {each.name: each for each in found}


def changed(url: str, *texts: str) -> None:
    connection = open_database(url).connect()
    for text in texts:
        connection.execute(text)
    connection.close()


def test_a_database_as_it_is_made_is_well(url: str) -> None:
    upgrade(url)
    assert [(each.name, each.state) for each in database_checks(url)] == [
        ("database", "ok"), ("lock", "ok"), ("migrations", "ok"), ("schema", "ok")
    ]  # fmt: skip


def test_what_somebody_changed_of_the_tables_is_named(url: str) -> None:
    upgrade(url)
    changed(url, "ALTER TABLE feedback ADD COLUMN mine INTEGER", "DROP INDEX ix_session_agent_updated")
    try:
        schema = told(url)["schema"]
    finally:
        changed(
            url,
            "ALTER TABLE feedback DROP COLUMN mine",
            "CREATE INDEX ix_session_agent_updated ON session (agent, updated_at)",
        )
    assert schema.state == "failed"
    assert schema.said == "the index ix_session_agent_updated is missing; the column feedback.mine is not ours"


@pytest.mark.parametrize(
    ("version", "file", "fix"), [("0001", "warning", "agentflow db upgrade"), ("9999", "failed", "install a newer")]
)
def test_another_version_names_its_way_out(url: str, version: str, file: str, fix: str) -> None:
    upgrade(url)
    changed(url, f"UPDATE alembic_version SET version_num = '{version}'")
    try:
        found = told(url)
    finally:
        changed(url, "DELETE FROM alembic_version", "INSERT INTO alembic_version VALUES ('0003')")
    assert found["migrations"].state == (file if url.startswith("sqlite") else "failed")
    assert fix in (found["migrations"].fix or "")
    assert "schema" not in found


def test_who_keeps_others_from_writing_is_seen(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    upgrade(url)
    monkeypatch.setattr(condition, "_WAIT_SECS", 0)
    holder = open_database(url).connect()
    is_file = url.startswith("sqlite")
    holder.execute("BEGIN IMMEDIATE" if is_file else f"SELECT pg_advisory_lock({LOCK})")
    try:
        assert told(url)["lock"].state == "failed"
    finally:
        holder.close()
    assert told(url)["lock"].state == "ok"


def test_looking_at_a_place_makes_no_file(tmp_path: Path) -> None:
    assert told(f"sqlite:///{tmp_path / 'new.db'}")["database"].state == "ok"
    assert told(f"sqlite:///{tmp_path / 'nowhere' / 'new.db'}")["database"].state == "failed"
    assert told("sqlite://")["database"].state == "ok"
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_database_of_ours_is_left_alone(tmp_path: Path) -> None:
    theirs, text = tmp_path / "theirs.db", tmp_path / "text.db"
    with sqlite3.connect(theirs) as connection:
        connection.execute("CREATE TABLE customer (name TEXT)")
    connection.close()
    text.write_text("not a database at all\n" * 100)
    for file in (theirs, text):
        before = file.read_bytes()
        found = told(f"sqlite:///{file}")
        assert [(each.name, each.state) for each in found.values()] == [("database", "failed")]
        assert file.read_bytes() == before


def test_a_file_that_may_not_be_written_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"sqlite:///{tmp_path / 'sessions.db'}"
    upgrade(url)
    monkeypatch.setattr(os, "access", lambda *_: False)  # a superuser may write everything
    assert told(url)["database"].state == "failed"


def test_a_server_that_is_away_is_one_sentence_without_the_password() -> None:
    (found,) = database_checks("postgresql+psycopg://me:horse-battery@127.0.0.1:9/none")
    assert found.state == "failed"
    assert "horse-battery" not in f"{found.said}{found.fix}"
