"""What every table is made of: the metadata they share and the columns they have in common."""

from __future__ import annotations

from typing import Any, ClassVar

from sqlalchemy import BigInteger, Column, ForeignKey, Integer, MetaData, Text
from sqlmodel import Field, SQLModel

_NAMES = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}

# Small rows live in the tree of their primary key: one page to write instead of two.
KEYED = {"sqlite_with_rowid": False}


class Base(SQLModel):
    metadata: ClassVar[MetaData] = MetaData(naming_convention=_NAMES)


def owner() -> Any:
    return Field(
        sa_column=Column(
            BigInteger().with_variant(Integer(), "sqlite"),
            ForeignKey("session.key", ondelete="CASCADE"),
            primary_key=True,
            autoincrement=False,
        )
    )


def number(**options: Any) -> Any:
    return Field(sa_column=Column(Integer(), primary_key=True, autoincrement=False, **options))


def word(**options: Any) -> Any:
    return Field(sa_column=Column(Text(), primary_key=True, **options))


def moment() -> Any:
    return Field(default=None, sa_type=BigInteger)


def text() -> Any:
    return Field(default=None, sa_type=Text)
