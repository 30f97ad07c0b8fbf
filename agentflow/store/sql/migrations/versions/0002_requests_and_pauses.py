"""What a request says holds for its turn, and a pause says what it waits for (C8, C37-C39).

A turn keeps the client tools it was given as a blob, a call says who performs it, a pause is of a kind, and another
name of a turn says which of its steps it opened. A message says what a `context.replace` wrote it as (X18), which of
older ones the log tells.

Revision ID: 0002
"""

from __future__ import annotations

import json
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_COLUMNS: dict[str, tuple[sa.Column[Any], ...]] = {
    "alias": (sa.Column("step", sa.Integer()), sa.Column("after_seq", sa.Integer())),
    "message": (sa.Column("written_as", sa.Text()),),
    "question": (sa.Column("kind", sa.Text(), nullable=False, server_default="questions"),),
    "tool_call": (sa.Column("handler", sa.Text()),),
    "turn": (sa.Column("tools_hash", sa.Text()), sa.Column("data", sa.Text())),
}


def upgrade() -> None:
    for table, columns in _COLUMNS.items():
        for column in columns:
            op.add_column(table, column)
    _mark_what_replaces_wrote()


def _mark_what_replaces_wrote() -> None:
    """A replace wrote a root branch from its first message down to the head it told of."""
    connection = op.get_bind()
    told = connection.execute(
        sa.text("SELECT session_key, ref, data FROM event WHERE type = 'context.replaced' AND data IS NOT NULL")
    )
    for key, summary_id, data in told.all():
        head = {"key": key, "id": json.loads(data).get("head_id"), "summary": summary_id or ""}
        connection.execute(
            sa.text(
                "UPDATE message SET written_as = CASE WHEN id = :summary THEN 'summary' ELSE 'kept' END "
                "WHERE session_key = :key AND EXISTS (SELECT 1 FROM message head WHERE head.session_key = :key "
                "AND head.id = :id AND head.branch = message.branch AND head.depth >= message.depth)"
            ),
            head,
        )
