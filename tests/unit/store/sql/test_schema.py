"""A database is made, upgraded or refused by its version (R1, B52)."""

from __future__ import annotations

import re
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import create_engine

from agentflow.errors import StoreError
from agentflow.store.sql.schema import SCHEMA_VERSION, upgrade
from agentflow.store.sql.tables import Base
from tests.unit.store.sql.opening import use

_PARTS = re.compile(r"\n|,(?![^()]*\))")  # lines and commas, but none between brackets


def stamped(path: Path, version: str | None) -> None:
    """A database that holds nothing but a version's stamp."""
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL)")
        if version is not None:
            connection.execute("INSERT INTO alembic_version VALUES (?)", (version,))
    connection.close()


def tables(path: Path) -> dict[str, set[str]]:
    """Each table's and index's definition as a set of its parts, so that the order of columns does not count."""
    with sqlite3.connect(path) as connection:
        found = connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    connection.close()
    return {name: {part.strip() for part in _PARTS.split(sql)} for name, sql in found}


def version(path: Path) -> str:
    with sqlite3.connect(path) as connection:
        (found,) = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    connection.close()
    return str(found)


def test_a_new_file_gets_the_tables_and_the_stamp(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    use(f"sqlite:///{path}")
    assert set(Base.metadata.tables) <= set(tables(path))
    assert version(path) == SCHEMA_VERSION


def test_an_older_file_is_upgraded_by_itself_to_exactly_the_tables_of_a_new_one(tmp_path: Path) -> None:
    """R1: the migrations and the metadata are the same schema, defaults, keys and cascades included."""
    old, new = tmp_path / "old.db", tmp_path / "new.db"
    stamped(old, None)
    use(f"sqlite:///{old}")
    use(f"sqlite:///{new}")
    migrated, made = tables(old), tables(new)
    assert {name: migrated[name] for name in made if name != "alembic_version"} == {
        name: made[name] for name in made if name != "alembic_version"
    }
    assert version(old) == SCHEMA_VERSION


def test_alembic_finds_nothing_to_migrate(tmp_path: Path) -> None:
    stamped(tmp_path / "x.db", None)
    upgrade(f"sqlite:///{tmp_path}/x.db")
    engine = create_engine(f"sqlite:///{tmp_path}/x.db")
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), Base.metadata) == []
    engine.dispose()


def test_a_newer_file_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    stamped(path, "9999")
    for opening in (use, upgrade):
        with pytest.raises(StoreError, match="version 9999, newer than this agentflow's") as caught:
            opening(f"sqlite:///{path}")
        assert caught.value.detail == {"found": "9999", "known": SCHEMA_VERSION}
    assert set(tables(path)) == {"alembic_version"}


def test_upgrade_tells_the_versions_before_and_after(tmp_path: Path) -> None:
    """R1: `agentflow db upgrade`."""
    url = f"sqlite:///{tmp_path}/x.db"
    assert upgrade(url) == ("", SCHEMA_VERSION)
    assert upgrade(url) == (SCHEMA_VERSION, SCHEMA_VERSION)
    stamped(tmp_path / "y.db", None)
    assert upgrade(f"sqlite:///{tmp_path}/y.db") == ("0000", SCHEMA_VERSION)


def test_only_an_upgrade_loads_alembic_and_an_existing_file_not_even_the_tables(tmp_path: Path) -> None:
    """R1: a one-turn script pays for nothing else."""
    script = (
        "import sys\n"
        "from tests.unit.store.sql.opening import use\n"
        "use(sys.argv[1])\n"
        "print(*[name for name in ('alembic', 'sqlmodel', 'sqlalchemy') if name in sys.modules])\n"
    )

    def loaded() -> list[str]:
        command = [sys.executable, "-c", script, f"sqlite:///{tmp_path}/x.db"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()

    assert loaded() == ["sqlmodel", "sqlalchemy"]
    assert loaded() == []
