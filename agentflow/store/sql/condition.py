"""The condition a database is in, without changing it: who writes to it now, and how its tables differ from ours."""

from __future__ import annotations

import sqlite3
from contextlib import closing

from agentflow.store.sql.database import Database, RawConnection, SqliteDatabase
from agentflow.store.sql.schema import LOCK

_WAIT_SECS = 2.0

_COLUMNS = {
    "sqlite": "SELECT tables.name || '.' || columns.name FROM sqlite_master AS tables "
    "JOIN pragma_table_info(tables.name) AS columns WHERE tables.type = 'table'",
    "postgresql": "SELECT table_name || '.' || column_name FROM information_schema.columns "
    "WHERE table_schema = ANY (current_schemas(false))",
}
_INDEXES = {
    "sqlite": "SELECT name FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL",
    "postgresql": "SELECT indexname FROM pg_indexes WHERE schemaname = ANY (current_schemas(false))",
}


def is_held(database: Database, connection: RawConnection) -> bool:
    """Whether somebody has kept others from writing for two seconds, or is making the tables now."""
    if not isinstance(database, SqliteDatabase):
        free = connection.execute(f"SELECT pg_try_advisory_lock({LOCK})").fetchone()[0]
        if free:
            connection.execute(f"SELECT pg_advisory_unlock({LOCK})")
        return not free
    with closing(sqlite3.connect(database.path, timeout=_WAIT_SECS, isolation_level=None)) as writing:
        try:
            writing.execute(database.begin_write)
        except sqlite3.OperationalError as error:
            if "locked" not in str(error):
                raise
            return True
        writing.execute("ROLLBACK")
    return False


def differences(database: Database, connection: RawConnection) -> list[str]:
    """What is missing of the columns and indexes that this version makes, and which columns its tables have beside
    them, each as a clause; the database is at this version.
    """
    from agentflow.store.sql.tables import Base

    tables = Base.metadata.sorted_tables
    columns = {f"{table.name}.{column.name}" for table in tables for column in table.columns}
    indexes = {str(index.name) for table in tables for index in table.indexes}
    found = {str(name) for (name,) in connection.execute(_COLUMNS[database.name]).fetchall()}
    found_indexes = {str(name) for (name,) in connection.execute(_INDEXES[database.name]).fetchall()}
    ours = {table.name for table in tables}
    further = {name for name in found - columns if name.partition(".")[0] in ours}
    return [
        *(f"the column {name} is missing" for name in sorted(columns - found)),
        *(f"the index {name} is missing" for name in sorted(indexes - found_indexes)),
        *(f"the column {name} is not ours" for name in sorted(further)),
    ]
