"""The schema's version: a new database is made, an older one upgraded or refused, a newer one refused (R1).

Making it needs the tables (and so sqlmodel), upgrading needs alembic; a database that is up to date needs neither.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from agentflow.errors import StoreError
from agentflow.secrets.redacting import redact
from agentflow.store.sql.database import Database, RawConnection, open_database
from agentflow.store.sql.sqlite_file import MARK

SCHEMA_VERSION = "0003"

LOCK = 0x6167656E74  # the advisory lock under which processes make or upgrade a Postgres schema
_VERSION_TABLE = (
    "CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL, "
    "CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num))"
)
_HAS_VERSION = {
    "sqlite": "SELECT 1 FROM sqlite_master WHERE name = 'alembic_version'",
    # the catalogue itself: to_regclass answers from a cache that another process's commit has not reached yet
    "postgresql": "SELECT 1 FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace "
    "WHERE relname = 'alembic_version' AND nspname = ANY (current_schemas(false))",
}


def prepare(database: Database, connection: RawConnection) -> None:
    """Bring the database to this version once, however many processes do it at the same moment (B52).

    Raises `StoreError` for a newer database and for an older one that is not upgraded by itself.
    """
    with database.preparing:
        if database.is_prepared:
            return
        try:
            found = version_of(database, connection)
            if database.read_only:
                _refuse_unless_readable(database, found)
            found = found or _make(database, connection)
            if found != SCHEMA_VERSION:
                _refuse_unless_upgradable(database, found)
                _run_migrations(database)
        except Exception as error:
            raise database.wrap(error) from error
        database.is_prepared = True


def upgrade(url: str) -> tuple[str, str]:
    """Bring the database to this version, an older one by its migrations; the versions before and after.

    A database that is new has the version `""` before. Raises `StoreError`.
    """
    database = open_database(url)
    connection = database.connect()
    try:
        before = version_of(database, connection) or ""
        if not before:
            _make(database, connection)
        elif before != SCHEMA_VERSION:
            _refuse_newer(database, before)
            _run_migrations(database)
    except Exception as error:
        raise database.wrap(error) from error
    finally:
        database.release(connection)
        database.close()
    return before, SCHEMA_VERSION


def version_of(database: Database, connection: RawConnection) -> str | None:
    """The version the database is stamped with, `"0000"` for an empty stamp, null when it has none."""
    if connection.execute(_HAS_VERSION[database.name]).fetchone() is None:
        return None
    row = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    return "0000" if row is None else str(row[0])


def _make(database: Database, connection: RawConnection) -> str:
    """Make the tables unless another process has made them meanwhile; the version then."""
    connection.execute(database.begin_write)
    try:
        if database.name == "postgresql":
            connection.execute(f"SELECT pg_advisory_xact_lock({LOCK})")
        found = version_of(database, connection)
        if found is None:
            for text in _definitions(database.name):
                connection.execute(text)
            connection.execute(_VERSION_TABLE)
            if database.name == "sqlite":
                connection.execute(MARK)
            connection.execute(f"INSERT INTO alembic_version VALUES ('{SCHEMA_VERSION}')")
            found = SCHEMA_VERSION
        connection.execute("COMMIT")
    except BaseException:
        if database.in_transaction(connection):
            connection.execute("ROLLBACK")
        raise
    return found


def _definitions(name: str) -> Iterator[str]:
    """`CREATE TABLE` and `CREATE INDEX` of every table, in the database's dialect."""
    from sqlalchemy.dialects import registry
    from sqlalchemy.schema import CreateIndex, CreateTable

    from agentflow.store.sql.tables import Base

    dialect: Any = registry.load(name)()
    for table in Base.metadata.sorted_tables:
        yield str(CreateTable(table).compile(dialect=dialect))
        for index in sorted(table.indexes, key=lambda index: str(index.name)):
            yield str(CreateIndex(index).compile(dialect=dialect))


def _refuse_newer(database: Database, found: str) -> None:
    if found > SCHEMA_VERSION:
        raise StoreError(
            f"The database {redact(database.url)!r} has the schema version {found}, newer than this agentflow's "
            f"{SCHEMA_VERSION}. Install a newer agentflow to use it; nothing was changed.",
            detail={"found": found, "known": SCHEMA_VERSION},
        )


def _refuse_unless_upgradable(database: Database, found: str) -> None:
    _refuse_newer(database, found)
    if database.name != "sqlite":
        raise StoreError(
            f"The database {redact(database.url)!r} has the older schema version {found}; this agentflow needs "
            f"{SCHEMA_VERSION}. Run `agentflow db upgrade`.",
            detail={"found": found, "known": SCHEMA_VERSION},
        )


def _refuse_unless_readable(database: Database, found: str | None) -> None:
    """A read makes and upgrades nothing (Z1); what has no tables at all holds no session."""
    if found is None and database.name == "sqlite":
        return
    if found is None:
        raise StoreError(
            f"The database {redact(database.url)!r} has no tables of agentflow's yet. "
            "Run a turn on it, or `agentflow db upgrade`."
        )
    _refuse_newer(database, found)
    if found != SCHEMA_VERSION:
        raise StoreError(
            f"The database {redact(database.url)!r} has the older schema version {found}, and reading changes "
            "nothing. Run `agentflow db upgrade`; the next turn on a SQLite file does that too.",
            detail={"found": found, "known": SCHEMA_VERSION},
        )


def _run_migrations(database: Database) -> None:
    """Alembic's upgrade in one transaction, under the lock that keeps other processes out."""
    from alembic import command
    from alembic.config import Config
    from alembic.util import CommandError
    from sqlalchemy import create_engine
    from sqlalchemy.exc import DBAPIError
    from sqlalchemy.pool import NullPool

    config = Config()
    folder = Path(__file__).with_name("migrations")
    config.set_main_option("script_location", str(folder).replace("%", "%%"))
    engine = create_engine(
        f"{database.name.replace('postgresql', 'postgresql+psycopg')}://", creator=database.connect, poolclass=NullPool
    )
    with engine.connect() as connection:
        _begin_migrating(database, connection)
        config.attributes["connection"] = connection
        try:
            command.upgrade(config, "head")
        except (CommandError, DBAPIError) as error:  # it is not what its version says
            raise StoreError(
                f"The database {redact(database.url)!r} cannot be upgraded from what it is: "
                f"{str(error).splitlines()[0]}. Restore it from a backup; nothing was changed."
            ) from error
        if database.name == "sqlite":
            connection.exec_driver_sql(MARK)
        connection.commit()


def _begin_migrating(database: Database, connection: Any) -> None:
    """Open the transaction; a table that SQLite has to rebuild must not take its referring rows along."""
    if database.name == "sqlite":
        connection.exec_driver_sql("PRAGMA foreign_keys=OFF")
        connection.exec_driver_sql("BEGIN IMMEDIATE")
    else:
        connection.connection.driver_connection.autocommit = False
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({LOCK})")
