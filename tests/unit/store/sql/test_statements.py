"""The SQL text is built from `rows/written.py`; these tests hold it against the tables."""

from __future__ import annotations

from typing import Any

import pytest

from agentflow.store.rows import changes, inserts, written
from agentflow.store.sql.statements import INSERT_TEXTS, UPDATE_TEXTS, translation
from agentflow.store.sql.tables import Base

TABLES = Base.metadata.tables


def test_every_row_type_has_exactly_one_statement() -> None:
    types = set(written.Row.__args__)
    assert set(INSERT_TEXTS) | set(UPDATE_TEXTS) == types
    assert not set(INSERT_TEXTS) & set(UPDATE_TEXTS)


@pytest.mark.parametrize("row", written.INSERTS, ids=lambda row: row.__name__)
def test_an_insert_names_columns_and_none_that_must_have_a_value_is_missing(row: Any) -> None:
    columns = TABLES[written.INSERTS[row]].columns
    required = {column.name for column in columns if not column.nullable and column.server_default is None}
    assert required <= {"session_key", *row._fields} <= set(columns.keys())


@pytest.mark.parametrize("row", written.UPDATES, ids=lambda row: row.__name__)
def test_an_update_meets_at_most_one_row(row: Any) -> None:
    """C35: its condition has the whole primary key, so that a row count of 1 means this row."""
    name, where = written.UPDATES[row]
    assert row._fields[len(row._fields) - len(where) :] == where
    conditions = {field.removeprefix("from_") for field in where}
    owner = "key" if name == "session" else "session_key"
    assert {owner, *conditions} >= {column.name for column in TABLES[name].primary_key.columns}
    assert set(row._fields[: len(row._fields) - len(where)]) | conditions <= set(TABLES[name].columns.keys())


def test_the_texts_are_plain_sql() -> None:
    assert INSERT_TEXTS[inserts.InsertStateVersion] == (
        "INSERT INTO state_version (session_key, number, kind, value, turn, branch, depth) VALUES (?, ?, ?, ?, ?, ?, ?)"
    )
    assert INSERT_TEXTS[inserts.InsertBlob].endswith("VALUES (?, ?, ?) ON CONFLICT DO NOTHING")
    assert (
        UPDATE_TEXTS[changes.MoveTurn]
        == "UPDATE turn SET state = ? WHERE number = ? AND state = ? AND session_key = ?"
    )  # fmt: skip


def test_marks_are_written_as_the_driver_wants_them() -> None:
    text = "SELECT 1 FROM session WHERE id LIKE 'a%' AND key = ?"
    assert translation("sqlite")(text) == text
    assert translation("postgresql")(text) == "SELECT 1 FROM session WHERE id LIKE 'a%%' AND key = %s"
