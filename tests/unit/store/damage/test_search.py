"""Z1: what is gone through for damage is every column that the tables have."""

from __future__ import annotations

from agentflow.store.damage.search import _WALKED
from agentflow.store.sql.tables import Base


def test_every_column_of_a_session_is_looked_at() -> None:
    beside = {"sweep", "keyed_request"}  # they belong to the database, not to what is read of a session
    tables = {name: table for name, table in Base.metadata.tables.items() if name not in beside}
    assert {table.name: {column.name: column.optional for column in table.columns} for table in _WALKED} == {
        name: {column.name: bool(column.nullable) for column in table.columns if column.name != "session_key"}
        for name, table in tables.items()
    }
