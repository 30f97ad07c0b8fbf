"""Every store contract runs on a SQLite file, on SQLite in memory and, when the environment names one, on Postgres."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.book import Book

POSTGRES = os.environ.get("AGENTFLOW_TEST_POSTGRES")


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """A schema of this test run's own, so that runs at the same time do not meet; gone afterwards."""
    if POSTGRES is None:
        pytest.skip("AGENTFLOW_TEST_POSTGRES is not set")
    import psycopg

    name, plain = f"test_{uuid.uuid4().hex}", POSTGRES.replace("+psycopg", "", 1)
    with psycopg.connect(plain, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
        try:
            yield f"{POSTGRES}{'&' if '?' in POSTGRES else '?'}application_name={name}&options=-csearch_path%3D{name}"
        finally:
            connection.execute(f"DROP SCHEMA {name} CASCADE")


@pytest.fixture(params=["file", "memory", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Sessions of earlier tests stay in the Postgres schema: tests name sessions by `book.new_id()`."""
    if request.param == "postgres":
        return str(request.getfixturevalue("postgres_url"))
    return "sqlite://" if request.param == "memory" else f"sqlite:///{tmp_path / 'sessions.db'}"


@pytest.fixture
def book(url: str) -> Book:
    return Book(url)
