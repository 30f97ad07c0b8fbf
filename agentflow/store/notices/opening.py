"""Which notices a database has."""

from __future__ import annotations

from agentflow.store.notices.postgres import PostgresNotices
from agentflow.store.notices.sqlite import SqliteNotices
from agentflow.store.notices_protocol import NoNotices, Notices
from agentflow.store.sql.database import Database, PostgresDatabase, SqliteDatabase


def notices_of(database: Database) -> Notices:
    """Of a database in memory, and of one that is only read, none: their readers look now and then."""
    match database:
        case PostgresDatabase(read_only=False):
            return PostgresNotices(database)
        case SqliteDatabase(read_only=False, path=path) if path:
            return SqliteNotices(database)
        case _:
            return NoNotices()
