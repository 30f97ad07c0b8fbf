"""Whether an error comes of a damaged row: then the row is told instead, and what to do (Z1)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import wraps
from inspect import iscoroutinefunction, signature
from typing import Any, TypeVar

from agentflow.errors import AgentflowError, InternalError, StoreError
from agentflow.store.protocol import Store
from agentflow.store.records import Damage

C = TypeVar("C")


async def cause_of(error: Exception, store: Store, session_id: str | None) -> Exception:
    """The error, or where nothing else explains it and a row of the session, or for null of any, is damaged, a
    `StoreError` that names the row.
    """
    if not _is_unexpected(error):
        return error
    try:
        found = await store.damages(session_id, 1)
    except Exception:  # a database that cannot even be gone through
        return error
    if not found:
        return error
    told = damaged(found[0])
    told.__cause__ = error
    return told


def damaged(damage: Damage) -> StoreError:
    """The error that names a damaged row; its `detail` has `damaged`, `table`, `column`, `row`."""
    session = damage.row["session"]
    gone = "" if session is None else f", or give the session up with `agentflow sessions rm {session}`"
    return StoreError(
        f"The database is damaged: {damage}. Nothing more was written there. Restore it from a backup{gone}; "
        "`agentflow db check` tells all that is damaged.",
        detail={"damaged": True, "table": damage.table, "column": damage.column, "row": damage.row},
    )


@asynccontextmanager
async def naming_damage(store: Store, session_id: str | None) -> AsyncIterator[None]:
    """Raise the `StoreError` of `cause_of` for an error within that comes of a damaged row."""
    try:
        yield
    except Exception as error:
        told = await cause_of(error, store, session_id)
        if told is error:
            raise
        raise told from error


def names_damage(kind: type[C]) -> type[C]:
    """A class with a `_store`: each public coroutine method works within `naming_damage`, by its `session_id`."""
    for name, method in vars(kind).items():
        if iscoroutinefunction(method) and not name.startswith("_"):
            setattr(kind, name, _naming(method))
    return kind


def _naming(method: Callable[..., Any]) -> Callable[..., Any]:
    parameters = signature(method)

    @wraps(method)
    async def named(self: Any, *args: Any, **options: Any) -> Any:
        try:
            return await method(self, *args, **options)
        except Exception as error:
            session_id = parameters.bind(self, *args, **options).arguments.get("session_id")
            told = await cause_of(error, self._store, session_id if isinstance(session_id, str) else None)
            if told is error:
                raise
            raise told from error

    return named


def _is_unexpected(error: Exception) -> bool:
    """An error of ours that says what is wrong is none of this; nor is one that names a row already."""
    if isinstance(error, StoreError):
        return "damaged" in error.detail and "table" not in error.detail
    wrong_value = isinstance(error.__cause__, OverflowError | UnicodeError)
    return wrong_value or isinstance(error, InternalError) or not isinstance(error, AgentflowError)
