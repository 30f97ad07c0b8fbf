"""Whether a database can be used: reached, written, free, at this version, its tables as they were made."""

from __future__ import annotations

import os
from collections.abc import Iterator

from agentflow.errors import AgentflowError
from agentflow.health.check import Check
from agentflow.store.sql.condition import differences, is_held
from agentflow.store.sql.database import Database, RawConnection, SqliteDatabase, open_database
from agentflow.store.sql.schema import SCHEMA_VERSION, version_of
from agentflow.store.sql.sqlite_file import is_new

_NAME_ANOTHER = "name another database with --db, AGENTFLOW_DB or db: in agentflow.yaml"
_UPGRADE = "agentflow db upgrade"
_NEVER = "it has no tables yet: the first turn makes them"


def database_checks(url: str) -> Iterator[Check]:
    """All of them; nothing is made or changed. What cannot be looked at, because something before it failed, is not."""
    try:
        database = open_database(url, read_only=True)
        if isinstance(database, SqliteDatabase) and (not database.path or is_new(database.path)):
            yield _new_file(database)
            return
        connection = database.connect()
    except AgentflowError as error:
        yield Check("database", "failed", error.message, _NAME_ANOTHER)
        return
    try:
        yield from _open(database, connection)
    except Exception as error:
        wrapped = database.wrap(error)
        if not isinstance(wrapped, AgentflowError):
            raise
        yield Check("database", "failed", wrapped.message, "restore a backup, or " + _NAME_ANOTHER)
    finally:
        connection.close()
        database.close()


def _new_file(database: SqliteDatabase) -> Check:
    if not database.path:
        return Check("database", "ok", "in memory: it lives as long as its process")
    folder = os.path.dirname(database.path)
    if os.access(folder, os.W_OK):
        return Check("database", "ok", f"the first turn makes {database.path}")
    return Check("database", "failed", f"{folder} cannot be written, or is not there", _NAME_ANOTHER)


def _open(database: Database, connection: RawConnection) -> Iterator[Check]:
    found = version_of(database, connection)
    writable = not isinstance(database, SqliteDatabase) or os.access(database.path, os.W_OK)
    where = database.path if isinstance(database, SqliteDatabase) else database.name
    if writable:
        yield Check("database", "ok", f"{where} can be read and written")
        yield _lock(database, connection)
    else:
        yield Check("database", "failed", f"{where} can only be read", "give yourself the right to write it")
    yield _migrations(database, found)
    if found == SCHEMA_VERSION:
        yield _schema(differences(database, connection))


def _lock(database: Database, connection: RawConnection) -> Check:
    if is_held(database, connection):
        fix = "wait for the process that writes to it, or end it; one that hangs in a transaction blocks all others"
        return Check("lock", "failed", "another process has kept everybody else from writing for two seconds", fix)
    return Check("lock", "ok", "nobody holds it")


def _migrations(database: Database, found: str | None) -> Check:
    if found is None:
        return Check("migrations", "ok", _NEVER)
    if found == SCHEMA_VERSION:
        return Check("migrations", "ok", f"version {found}, as this agentflow has it")
    if found > SCHEMA_VERSION:
        said = f"version {found} is newer than this agentflow's {SCHEMA_VERSION}"
        return Check("migrations", "failed", said, "install a newer agentflow")
    said = f"version {found} is older than {SCHEMA_VERSION}"
    if database.name == "sqlite":
        return Check("migrations", "warning", said + "; the next turn upgrades it", _UPGRADE)
    return Check("migrations", "failed", said, _UPGRADE)


def _schema(differs: list[str]) -> Check:
    if not differs:
        return Check("schema", "ok", "the tables are as agentflow makes them")
    fix = "somebody has changed the tables: undo it, or export the sessions and import them into a new database"
    return Check("schema", "failed", "; ".join(differs[:5]) + ("; ..." if len(differs) > 5 else ""), fix)
