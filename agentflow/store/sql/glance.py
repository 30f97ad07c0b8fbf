"""The newest sessions of a SQLite file, read without what the store loads: completing a word must be quick."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from agentflow.config.places import PROJECT_FILE, database_url
from agentflow.errors import AgentflowError
from agentflow.store.sql.database import SqliteDatabase, open_database

_NEWEST = "SELECT id, name FROM session ORDER BY updated_at DESC LIMIT ?"


def recent_sessions(
    project: str | Path = ".", *, db: str | None = None, limit: int = 50
) -> list[tuple[str, str | None]]:
    """Ids and names of a project's sessions, the most recently used first; `db` is as `Runtime.open` takes it.

    None where there is no such file, or none that can be read, and none of a server: it may be far away, and whoever
    types must not wait for it. Nothing is made or changed.
    """
    root = Path(project).resolve()
    try:
        database = open_database(database_url(root, _configured(root), db, read_only=True), read_only=True)
        if not isinstance(database, SqliteDatabase) or not database.path:
            return []
        with closing(database.connect()) as connection:
            return [(str(id_), name) for id_, name in connection.execute(_NEWEST, (limit,))]
    except (AgentflowError, sqlite3.Error):
        return []


def _configured(root: Path) -> str | None:
    if not (root / PROJECT_FILE).is_file():
        return None
    from agentflow.config.project import open_project

    return open_project(root).db
