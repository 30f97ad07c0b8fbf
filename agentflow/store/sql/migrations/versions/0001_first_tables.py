"""The first tables, as they were: this file never follows later changes of `tables/`.

Revision ID: 0001

A column reads `name type`, with `?` when it may be null and `=x` when the database has a default. Every table but
`session` begins with `session_key`, which is the first column of its primary key and cascades from the session.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_TYPES: dict[str, Any] = {"int": sa.Integer(), "instant": sa.BigInteger(), "text": sa.Text(), "key": _KEY}


class _Table(NamedTuple):
    """`key` is the primary key after `session_key`, `keyed` stores the rows in its tree, `has_id` makes `id` unique."""

    key: str
    columns: str
    keyed: bool = True
    has_id: bool = False


_SESSION = (
    "key key, id text, agent text, name text?, environment text, created_at instant, updated_at instant, "
    "branch int?, depth int?, seq int, epoch int, turn int?, owner text?, lease_until instant?, stop_turn text?, "
    "queued int, turns int, steps int, executions int, branches int, ended_at instant?, outcome text?"
)
_TABLES = {
    "alias": _Table("kind alias", "kind text, alias text, target text"),
    "blob": _Table("hash", "hash text, body text", keyed=False),
    "branch": _Table("number", "number int, parent int?, fork_depth int, execution int?"),
    "event": _Table("seq", "seq int, turn int?, at instant, type text, ref text?, data text?"),
    "execution": _Table(
        "number",
        "number int, turn int, agent text, config_hash text, status text, started_at instant, duration_ms int?, "
        "parent int?, parent_call_id text?",
    ),
    "llm_call": _Table(
        "id",
        "id text, turn int, execution int, step int, iteration int, purpose text, model text, status text, "
        "requested_at instant, branch int?, depth int?, duration_ms int?, first_token_ms int?, attempts int?, "
        "request_chars int?, prompt_hash text?, tools_hash text?, finish_reason text?, input int?, output int?, "
        "cache_read int?, cache_write int?, cost text?, error text?, checkpoint text?, raw_reply text?",
    ),
    "hook_run": _Table(
        "step number",
        "step int, number int, turn int, execution int, point text, flow text, at instant, duration_ms int, "
        "outcome text, error text?",
    ),
    "message": _Table(
        "branch depth",
        "branch int, depth int, id text, role text, turn int, execution int, content text?, parts text?, "
        "calls text?, call_id text?, name text?, provider text?, hidden int, copied_from text?",
        keyed=False,
        has_id=True,
    ),
    "question": _Table(
        "execution call_id",
        "execution int, call_id text, turn int, state text, questions text, asked_at instant, expires_at instant?, "
        "branch int?, depth int?",
    ),
    "queue_entry": _Table(
        "number", "number int, turn_id text, mode text, input text, queued_at instant", keyed=False
    ),
    "state_version": _Table("number", "number int, kind text, value text, turn int, branch int?, depth int?"),
    "step": _Table(
        "number",
        "number int, turn int, state text, opened_at instant, completed_at instant?, first_token_ms int?, "
        "user_message_id text?, answer_id text?, answer_chars int?",
    ),
    "todo_list": _Table("turn execution number", "turn int, execution int, number int, items text"),
    "tool_call": _Table(
        "execution id",
        "execution int, id text, turn int, reply_id text, name text, status text, started_at instant?, "
        "duration_ms int?, ok int?, result_id text?, full_result text?, altered int=0",
    ),
    "turn": _Table(
        "number",
        "number int, id text, state text, config_hash text, created_at instant, ended_at instant?, request text?, "
        "plan text?, after_seq int, error text?, limit_name text?, input int?, output int?, cache_read int?, "
        "cache_write int?, cost text?",
        has_id=True,
    ),
}  # fmt: skip


def upgrade() -> None:
    op.create_table(
        "session",
        *_columns(_SESSION),
        sa.PrimaryKeyConstraint("key", name="pk_session"),
        sa.UniqueConstraint("id", name="uq_session_id"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_session_agent_updated", "session", ["agent", "updated_at"])
    for name, table in _TABLES.items():
        _create(name, table)


def _create(name: str, table: _Table) -> None:
    unique = [sa.UniqueConstraint("session_key", "id", name=f"uq_{name}_session_key_id")] if table.has_id else []
    options = {"sqlite_with_rowid": False} if table.keyed else {}
    op.create_table(
        name,
        sa.Column("session_key", _KEY, autoincrement=False, nullable=False),
        *_columns(table.columns),
        sa.PrimaryKeyConstraint("session_key", *table.key.split(), name=f"pk_{name}"),
        sa.ForeignKeyConstraint(
            ["session_key"], ["session.key"], name=f"fk_{name}_session_key_session", ondelete="CASCADE"
        ),
        *unique,
        **options,
    )


def _columns(text: str) -> list[sa.Column[Any]]:
    return [_column(*column.split()) for column in text.split(", ")]


def _column(name: str, kind: str) -> sa.Column[Any]:
    kind, _, default = kind.partition("=")
    type_ = _TYPES[kind.removesuffix("?")]
    return sa.Column(name, type_, nullable=kind.endswith("?"), server_default=default or None)
