"""What only Postgres can do to us: connections that die, deadlocks, schemas that are not ours to change (R1)."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest

from agentflow.errors import StoreError
from agentflow.store.sql.database import open_database
from agentflow.store.sql.schema import SCHEMA_VERSION, upgrade
from agentflow.store.sql.transaction import Tx
from agentflow.store.sql.writer import Writer
from tests.contract.book import Book, ended, user


@pytest.fixture
def book(postgres_url: str) -> Book:
    return Book(postgres_url)


@pytest.fixture
def empty_url(postgres_url: str) -> Iterator[str]:
    """A schema without tables."""
    database = open_database(postgres_url)
    connection = database.connect()
    name = connection.execute("SELECT current_schema()").fetchone()[0] + "_empty"
    connection.execute(f"CREATE SCHEMA {name}")
    yield postgres_url.rsplit("%3D", 1)[0] + f"%3D{name}"
    connection.execute(f"DROP SCHEMA {name} CASCADE")
    database.release(connection)


def backend(tx: Tx) -> int:
    return int(tx.one("SELECT pg_backend_pid()")[0])


def test_a_connection_that_died_is_replaced_without_anybody_noticing(book: Book, postgres_url: str) -> None:
    async def test() -> None:
        turn = await book.begin()
        await book.say(turn, user("before"))
        await book.store.session(book.session_id)
        kill_others(postgres_url)
        await book.say(turn, user("after"))
        assert len(await book.store.path(turn.key, turn.head, lean_before=None)) == 2
        await book.end(turn, ended(turn))

    book.run(test)


def test_a_connection_that_dies_in_a_transaction_costs_nothing_but_another_try(book: Book, postgres_url: str) -> None:
    """A job is a function of its transaction: until COMMIT it may run again."""
    tries = []

    def job(tx: Tx) -> None:
        tries.append(backend(tx))
        if len(tries) == 1:
            kill(postgres_url, tries[0])
        tx.one("SELECT 1")

    async def test() -> None:
        await book.writer.run(job)
        assert len(tries) == 2

    book.run(test)


def test_processes_that_meet_in_a_deadlock_both_succeed(book: Book, postgres_url: str) -> None:
    other = Writer(open_database(postgres_url))
    both = threading.Barrier(2)
    tries = [0, 0]

    async def test() -> None:
        one, two = await book.begin(book.session_id + "-1"), await book.begin(book.session_id + "-2")

        def lock(who: int, *keys: int) -> None:
            def job(tx: Tx) -> None:
                tries[who] += 1
                for number, key in enumerate(keys):
                    tx.execute("UPDATE session SET name = ? WHERE key = ?", f"{who}", key)
                    if number == 0 and tries[who] == 1:
                        both.wait()

            return job

        await asyncio.gather(book.writer.run(lock(0, one.key, two.key)), other.run(lock(1, two.key, one.key)))
        assert sum(tries) > 2
        await other.close()

    book.run(test)


def test_a_new_schema_is_made_and_alembic_finds_nothing_to_migrate_in_a_migrated_one(empty_url: str) -> None:
    """R1: the migrations and the metadata are the same schema."""
    from alembic.autogenerate import compare_metadata
    from alembic.runtime.migration import MigrationContext
    from sqlalchemy import create_engine

    from agentflow.store.sql.tables import Base

    made = (upgrade(empty_url), definitions(empty_url))
    run(empty_url, *(f"DROP TABLE {table.name} CASCADE" for table in Base.metadata.sorted_tables))
    run(empty_url, "DELETE FROM alembic_version")
    migrated = (upgrade(empty_url), definitions(empty_url))
    assert (made[0], migrated[0]) == (("", SCHEMA_VERSION), ("0000", SCHEMA_VERSION))
    assert migrated[1] == made[1]
    engine = create_engine("postgresql+psycopg://", creator=open_database(empty_url).connect)
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), Base.metadata) == []
    engine.dispose()


@pytest.mark.parametrize(
    ("version", "told"), [("0000", "older schema version 0000.*agentflow db upgrade"), ("9999", "newer than")]
)
def test_another_version_is_refused(empty_url: str, version: str, told: str) -> None:
    """R1: a shared server is upgraded by hand only."""
    run(empty_url, "CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL)")
    run(empty_url, f"INSERT INTO alembic_version VALUES ('{version}')")
    book = Book(empty_url)

    async def test() -> None:
        with pytest.raises(StoreError, match=told):
            await book.store.session("any")
        with pytest.raises(StoreError, match=told):
            await book.begin()

    book.run(test)


def run(url: str, *texts: str) -> None:
    database = open_database(url)
    connection = database.connect()
    for text in texts:
        connection.execute(text)
    database.release(connection)


def definitions(url: str) -> list[tuple[object, ...]]:
    """Columns, constraints and indexes of the schema, in an order of their own."""
    database = open_database(url)
    connection = database.connect()
    found = connection.execute(
        "SELECT table_name, column_name, data_type, is_nullable, "
        "replace(column_default, current_schema() || '.', '') FROM information_schema.columns "
        "WHERE table_schema = current_schema() "
        "UNION ALL SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid), NULL, NULL FROM pg_constraint "
        "WHERE connamespace = current_schema()::regnamespace "
        "UNION ALL SELECT tablename, indexname, indexdef, NULL, NULL FROM pg_indexes "
        "WHERE schemaname = current_schema() ORDER BY 1, 2, 3"
    ).fetchall()
    database.release(connection)
    return [tuple(row) for row in found]


def kill(url: str, process: int) -> None:
    run(url, f"SELECT pg_terminate_backend({process}, 5000)")


def kill_others(url: str) -> None:
    """End every other connection of this test's schema."""
    name = url.rsplit("%3D", 1)[1]
    run(
        url,
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
        f"AND application_name = '{name}'",
    )
