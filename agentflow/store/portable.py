"""What of a session leaves the database with it: every table's columns, and the order that its rows go in.

A session's key, who runs it where, and the span of a paused turn belong to the database and stay. When it was last used
is not told either: an import is a use of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

Row = dict[str, Any]
"""A row by its columns: numbers, texts, bytes and, where the column is a kind of JSON, its value."""

JSON_KINDS = frozenset({"object", "list", "json"})


class Column(NamedTuple):
    """`kind` is `int`, `instant`, `text`, `bytes`, `flag`, or JSON: `object`, `list` or `json` for any value."""

    name: str
    kind: str
    optional: bool


class Table(NamedTuple):
    """`key` is the primary key behind the session's; the rows go in its order."""

    name: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]


def _columns(described: str) -> tuple[Column, ...]:
    pairs = (column.split() for column in described.split(", "))
    return tuple(Column(name, kind.removesuffix("?"), kind.endswith("?")) for name, kind in pairs)


SESSION = _columns(
    "id text, agent text, name text?, environment text, created_at instant, branch int?, depth int?, seq int, "
    "turn int?, queued int, turns int, steps int, executions int, branches int, ended_at instant?, outcome text?, "
    "name_tries int, snapshotted flag?, snapshot_reason text?"
)

# table, its key, its columns: `name kind`, with `?` where it may be null
_TABLES = (
    ("blob", "hash", "hash text, body text"),
    (
        "turn",
        "number",
        "number int, id text, state text, config_hash text, created_at instant, ended_at instant?, request object?, "
        "tools_hash text?, plan text?, after_seq int, error object?, limit_name text?, data json?, input int?, "
        "output int?, cache_read int?, cache_write int?, cost text?, first_step int, execution int?",
    ),
    (
        "step",
        "number",
        "number int, turn int, state text, opened_at instant, completed_at instant?, first_token_ms int?, "
        "user_message_id text?, answer_id text?, answer_chars int?",
    ),
    (
        "execution",
        "number",
        "number int, turn int, agent text, config_hash text, status text, started_at instant, duration_ms int?, "
        "parent int?, parent_call_id text?, plan text?",
    ),
    ("event", "seq", "seq int, turn int?, at instant, type text, ref text?, data object?"),
    ("branch", "number", "number int, parent int?, fork_depth int, execution int?"),
    (
        "message",
        "branch depth",
        "branch int, depth int, id text, role text, turn int, execution int, content text?, parts list?, calls list?, "
        "call_id text?, name text?, provider object?, hidden flag, copied_from text?, written_as text?",
    ),
    ("alias", "kind alias", "kind text, alias text, target text, step int?, after_seq int?"),
    (
        "llm_call",
        "id",
        "id text, turn int, execution int, step int, iteration int, purpose text, model text, status text, "
        "requested_at instant, branch int?, depth int?, duration_ms int?, first_token_ms int?, attempts int?, "
        "request_chars int?, prompt_hash text?, tools_hash text?, finish_reason text?, input int?, output int?, "
        "cache_read int?, cache_write int?, cost text?, error object?, checkpoint text?, raw_reply text?, "
        "finish_word text?, request object?",
    ),
    (
        "tool_call",
        "execution id",
        "execution int, id text, turn int, reply_id text, name text, status text, started_at instant?, "
        "duration_ms int?, ok flag?, result_id text?, full_result text?, altered flag, handler text?",
    ),
    (
        "question",
        "execution call_id",
        "execution int, call_id text, turn int, state text, questions json, asked_at instant, expires_at instant?, "
        "branch int?, depth int?, kind text",
    ),
    ("todo_list", "turn execution number", "turn int, execution int, number int, items list"),
    ("state_version", "number", "number int, kind text, value json, turn int, branch int?, depth int?"),
    (
        "hook_run",
        "step number",
        "step int, number int, turn int, execution int, point text, flow text, at instant, duration_ms int, "
        "outcome text, error text?",
    ),
    ("queue_entry", "number", "number int, turn_id text, mode text, input object, queued_at instant"),
    ("feedback", "step", "step int, rating text, comment text?, at instant"),
    (
        "agent_memory",
        "step number",
        "step int, number int, topic text, content text, at instant, turn int",
    ),
    ("snapshot_data", "hash", "hash text, body bytes"),
    (
        "snapshot",
        "step number",
        "step int, number int, turn int, entity text, entity_key text, hash text?, chars int, problem text?, "
        "at instant",
    ),
    (
        "session_stats",
        "turn",
        "turn int, agent text, state text, error text?, started_at instant, ended_at instant, duration_ms int, "
        "steps int, first_token_ms int?, input int, output int, cache_read int, cache_write int, cost text?, "
        "models json, tools json",
    ),
)
TABLES: Mapping[str, Table] = {
    name: Table(name, tuple(key.split()), _columns(columns)) for name, key, columns in _TABLES
}


class Portable(NamedTuple):
    """A whole session. The rows of a table follow each other, in the order of `TABLES` and there of its key."""

    session: Row
    rows: Iterator[tuple[str, Row]]
