"""What is kept about a conversation beside its turns: name, snapshots, memory, feedback, statistics (R5-R12).

A model call keeps the provider's own finish word, a sub-agent's run its plan, a turn which step and run of it came
first. A session counts the tries to name it, keeps whether it is snapshotted and why, and whose it is.

Revision ID: 0003

A table's columns are written as in the first migration: `name type`, with `?` when it may be null.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_TYPES: dict[str, Any] = {
    "int": sa.Integer(), "instant": sa.BigInteger(), "text": sa.Text(), "bytes": sa.LargeBinary(),
}  # fmt: skip

_COLUMNS: dict[str, tuple[sa.Column[Any], ...]] = {
    "llm_call": (sa.Column("finish_word", sa.Text()), sa.Column("request", sa.Text())),
    "execution": (sa.Column("plan", sa.Text()),),
    "turn": (
        sa.Column("first_step", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("execution", sa.Integer()),
        sa.Column("traceparent", sa.Text()),
    ),
    "session": (
        sa.Column("name_tries", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("snapshotted", sa.Integer()),
        sa.Column("snapshot_reason", sa.Text()),
        sa.Column("belongs_to", sa.Text()),
    ),
}

# table -> its primary key after session_key, its columns
_TABLES: dict[str, tuple[str, str]] = {
    "agent_memory": ("step number", "step int, number int, topic text, content text, at instant, turn int"),
    "feedback": ("step", "step int, rating text, comment text?, at instant"),
    "session_stats": (
        "turn",
        "turn int, agent text, state text, error text?, started_at instant, ended_at instant, duration_ms int, "
        "steps int, first_token_ms int?, input int, output int, cache_read int, cache_write int, cost text?, "
        "models text, tools text",
    ),
    "snapshot": (
        "step number",
        "step int, number int, turn int, entity text, entity_key text, hash text?, chars int, problem text?, "
        "at instant",
    ),
    "snapshot_data": ("hash", "hash text, body bytes"),
}

_KEYED_REQUEST = ("name text", "fingerprint text", "owner text", "lease_until instant", "at instant", "answer text?")


def upgrade() -> None:
    for table, columns in _COLUMNS.items():
        for column in columns:
            op.add_column(table, column)
    for table, (key, described) in _TABLES.items():
        _create(table, key, described)
    op.create_table(
        "keyed_request",
        *(_column(*each.split()) for each in _KEYED_REQUEST),
        sa.PrimaryKeyConstraint("name", name="pk_keyed_request"),
    )
    op.create_table(
        "sweep",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("lease_until", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_sweep"),
    )


def _create(table: str, key: str, columns: str) -> None:
    op.create_table(
        table,
        sa.Column("session_key", _KEY, autoincrement=False, nullable=False),
        *(_column(*column.split()) for column in columns.split(", ")),
        sa.PrimaryKeyConstraint("session_key", *key.split(), name=f"pk_{table}"),
        sa.ForeignKeyConstraint(
            ["session_key"], ["session.key"], name=f"fk_{table}_session_key_session", ondelete="CASCADE"
        ),
        sqlite_with_rowid=table == "snapshot_data",
    )


def _column(name: str, kind: str) -> sa.Column[Any]:
    return sa.Column(name, _TYPES[kind.removesuffix("?")], nullable=kind.endswith("?"))
