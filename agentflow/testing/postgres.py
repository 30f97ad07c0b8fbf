"""A schema of its own on a Postgres server, for one test."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def schema(server: str) -> Iterator[str]:
    """`server` is a database URL; yields the URL under which an empty schema is all there is, and drops it after."""
    import psycopg

    name = f"agentflow_{uuid.uuid4().hex}"
    plain = server.replace("postgresql+psycopg://", "postgresql://")
    with psycopg.connect(plain, autocommit=True) as connection:
        connection.execute(f'CREATE SCHEMA "{name}"')
        try:
            yield f"{server}{'&' if '?' in server else '?'}options=-csearch_path%3D{name}"
        finally:
            connection.execute(f'DROP SCHEMA "{name}" CASCADE')
