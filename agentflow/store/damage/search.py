"""Going through the rows of a session, or of all of them, for what no work of ours leaves there (Z1).

Only after an error that nothing else explains, and where somebody asks: it reads everything once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from agentflow.errors import StoreError
from agentflow.media.files import hashes_in, is_body_of
from agentflow.store.damage.fields import misfit
from agentflow.store.damage.pointers import POINTERS, misplaced, missing
from agentflow.store.damage.shapes import misshapen
from agentflow.store.portable import JSON_KINDS, SESSION, TABLES, Column
from agentflow.store.records import Damage
from agentflow.store.sql.transaction import Tx
from agentflow.text import digest, sanitise, stored_json

# What an export leaves out, because it belongs to the database and to whoever runs the session.
_OURS: Mapping[str, tuple[Column, ...]] = {
    "session": (
        Column("key", "int", False), Column("updated_at", "instant", False), Column("epoch", "int", False),
        Column("owner", "text", True), Column("lease_until", "instant", True), Column("stop_turn", "text", True),
        Column("belongs_to", "text", True),
    ),
    "turn": (Column("traceparent", "text", True),),
}  # fmt: skip

_NAME, _OWNER = Column("name", "text", False), Column("owner", "text", False)
_LEASE, _ANSWER = Column("lease_until", "instant", False), Column("answer", "object", True)


class _Walked(NamedTuple):
    """A table as it is gone through, its rows `t` with their session `s`."""

    name: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]

    is_apart: bool = False  # of the database, in no session

    def select(self, columns: str, where: str, *, of_session: bool) -> str:
        if self.is_apart:
            return f"SELECT NULL, {columns} FROM {self.name} t WHERE {where}"
        key = "key" if self.name == "session" else "session_key"
        scope = f"t.{key} = ? AND {where}" if of_session else where
        return f"SELECT s.id, {columns} FROM {self.name} t LEFT JOIN session s ON s.key = t.{key} WHERE {scope}"


_WALKED = (
    _Walked("session", ("key",), (*SESSION, *_OURS["session"])),
    *(_Walked(name, table.key, (*table.columns, *_OURS.get(name, ()))) for name, table in TABLES.items()),
)
_OF_NO_SESSION = (
    _Walked("sweep", ("name",), (_NAME, _OWNER, _LEASE), is_apart=True),
    _Walked(
        "keyed_request", ("name",),
        (_NAME, Column("fingerprint", "text", False), _OWNER, _LEASE, Column("at", "instant", False), _ANSWER),
        is_apart=True,
    ),
)  # fmt: skip

_MISCOUNTED = "t.queued <> (SELECT count(*) FROM queue_entry q WHERE q.session_key = t.key)"
_BLOBS, _CALLS, _MESSAGES = (
    next(table for table in _WALKED if table.name == name) for name in ("blob", "llm_call", "message")
)


def damages(tx: Tx, session_id: str | None, most: int) -> list[Damage]:
    """The first damaged columns of a session, or of all; none where every row is as it must be."""
    with tx.any_text():
        scope: tuple[int, ...] = ()
        if session_id is not None:
            found = tx.one("SELECT key FROM session WHERE id = ?", session_id)
            if found is None:
                return []
            scope = found
        return list(islice(_damages(tx, scope), most))


def _damages(tx: Tx, scope: Sequence[int]) -> Iterator[Damage]:
    """Fields before pointers: what a broken field names says nothing."""
    for table in (*_WALKED, *(() if scope else _OF_NO_SESSION)):
        yield from _fields(tx, table, scope)
    yield from _blobs(tx, scope)
    yield from _rows(tx, _WALKED[0], "queued", _MISCOUNTED, "be how many turns wait", scope)
    for table in _WALKED[1:]:
        for column, condition, wanted in misplaced(table.name):
            yield from _rows(tx, table, column, condition, f"be {wanted}", scope)
    by_name = {table.name: table for table in _WALKED}
    for pointer in POINTERS:
        column = pointer.columns[-1]
        yield from _rows(tx, by_name[pointer.table], column, missing(pointer), pointer.problem, scope)


def _fields(tx: Tx, table: _Walked, scope: Sequence[int]) -> Iterator[Damage]:
    names = [column.name for column in table.columns]
    sql = table.select(", ".join(f"t.{name}" for name in names), "1 = 1", of_session=bool(scope))
    for session, *stored in tx.each(sql, *scope):
        row = dict(zip(names, stored, strict=True))
        named = {"session": session, **{name: row[name] for name in table.key if name != "key"}}
        values = {}
        for column in table.columns:
            value, wanted = _read(column, row[column.name])
            wanted = wanted or misfit(table.name, column, value)
            if wanted is not None:
                yield _damage(table.name, column.name, named, f"be {wanted}")
            values[column.name] = value if wanted is None else None
        for column_name, wanted in misshapen(table.name, values):
            yield _damage(table.name, column_name, named, f"be {wanted}")


def _blobs(tx: Tx, scope: Sequence[int]) -> Iterator[Damage]:
    """A text has the hash that it goes by; a configuration, which has another, is an object with settings."""
    of_session = " WHERE session_key = ?" if scope else ""
    configs = {
        named
        for table in ("turn", "execution")
        for named in tx.all(f"SELECT session_key, config_hash FROM {table}{of_session}", *scope)
    }
    there = set()
    sql = _BLOBS.select("t.session_key, t.hash, t.body", "1 = 1", of_session=bool(scope))
    for session, key, hash_, body in tx.each(sql, *scope):
        there.add((key, hash_))
        if (key, hash_) in configs:
            wanted = None if _is_config(body) else "a configuration as JSON"
        else:
            wanted = None if _has_hash(body, hash_) else "the text or the file that has the hash"
        if wanted is not None:
            yield _damage("blob", "body", {"session": session, "hash": hash_}, f"be {wanted}")
    sql = _MESSAGES.select("t.session_key, t.id, t.parts", "t.parts IS NOT NULL", of_session=bool(scope))
    for session, key, id_, parts in tx.each(sql, *scope):
        content, wanted = _read(Column("parts", "list", True), parts)
        if wanted is None and not all((key, hash_) in there for hash_ in _files_of(content)):
            yield _damage("message", "parts", {"session": session, "id": id_}, "name rows of blob")
    sql = _CALLS.select("t.session_key, t.id, t.request", "t.request IS NOT NULL", of_session=bool(scope))
    for session, key, id_, request in tx.each(sql, *scope):
        made, wanted = _read(Column("request", "object", True), request)
        if wanted is None and not all((key, hash_) in there for hash_ in _blobs_of(made)):
            yield _damage("llm_call", "request", {"session": session, "id": id_}, "name rows of blob")


def _blobs_of(made: Any) -> list[Any]:
    """The texts that a call's request is made again of; what names them wrongly is told of by its shape."""
    if not isinstance(made, dict):
        return []
    texts, changed = made.get("texts"), made.get("changed")
    named = [*(texts if isinstance(texts, list) else ()), *(changed[2:] if isinstance(changed, list) else ())]
    return [each for each in (made.get("messages"), *named) if isinstance(each, str)]


def _files_of(parts: Any) -> Iterator[Any]:
    """The files that a message names; parts of no form are told of by it."""
    return hashes_in([part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else None)


def _has_hash(body: Any, hash_: Any) -> bool:
    if not isinstance(body, str) or sanitise(body) != body:
        return False
    return digest(body) == hash_ or is_body_of(body, hash_)


def _is_config(body: Any) -> bool:
    try:
        config = stored_json(body)
    except (StoreError, TypeError):
        return False
    return isinstance(config, dict) and isinstance(config.get("settings", {}), dict)


def _read(column: Column, stored: Any) -> tuple[Any, str | None]:
    """The value as a row out of this database has it, and what it must be where it is not even of that kind."""
    if stored is None:
        return None, None if column.optional else "there"
    if column.kind in JSON_KINDS:
        try:
            return (stored_json(stored), None) if isinstance(stored, str) else (None, "JSON in a text")
        except StoreError:
            return None, "JSON"
    if column.kind == "flag" and stored in (0, 1):
        return bool(stored), None
    return bytes(stored) if column.kind == "bytes" and isinstance(stored, memoryview) else stored, None


def _rows(tx: Tx, table: _Walked, column: str, condition: str, wanted: str, scope: Sequence[int]) -> Iterator[Damage]:
    names = [name for name in table.key if name != "key"]
    columns = ", ".join(f"t.{name}" for name in names) or "t.key"
    for session, *key in tx.each(table.select(columns, condition, of_session=bool(scope)), *scope):
        yield _damage(table.name, column, {"session": session, **dict(zip(names, key, strict=False))}, wanted)


def _damage(table: str, column: str, row: dict[str, Any], wanted: str) -> Damage:
    return Damage(table, column, {name: _told(value) for name, value in row.items()}, wanted)


def _told(value: Any) -> Any:
    """A key as JSON can hold it; it may be what is damaged."""
    if isinstance(value, str):
        return sanitise(value)[:200]
    return value if value is None or isinstance(value, int | float) else repr(value)[:200]
