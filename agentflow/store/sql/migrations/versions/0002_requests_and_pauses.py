"""What a request says holds for its turn, and a pause says what it waits for (C8, C37-C39).

A turn keeps the client tools it was given as a blob, a call says who performs it, a pause is of a kind, and another
name of a turn says which of its steps it opened.

Revision ID: 0002
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_COLUMNS: dict[str, tuple[sa.Column[Any], ...]] = {
    "alias": (sa.Column("step", sa.Integer()), sa.Column("after_seq", sa.Integer())),
    "question": (sa.Column("kind", sa.Text(), nullable=False, server_default="questions"),),
    "tool_call": (sa.Column("handler", sa.Text()),),
    "turn": (sa.Column("tools_hash", sa.Text()),),
}


def upgrade() -> None:
    for table, columns in _COLUMNS.items():
        for column in columns:
            op.add_column(table, column)
