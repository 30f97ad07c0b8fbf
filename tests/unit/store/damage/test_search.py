"""Z1: what is gone through for damage is every column that the tables have."""

from __future__ import annotations

from agentflow.store.damage.search import _OF_NO_SESSION, _WALKED
from agentflow.store.sql.tables import Base


def test_every_column_is_looked_at() -> None:
    walked = (*_WALKED, *_OF_NO_SESSION)
    assert {table.name: {column.name: column.optional for column in table.columns} for table in walked} == {
        name: {column.name: bool(column.nullable) for column in table.columns if column.name != "session_key"}
        for name, table in Base.metadata.tables.items()
    }
