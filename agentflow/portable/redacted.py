"""A session without the secrets that this process knows, on its way out (R12, Z4).

What was stored has none that were known then; a value may have become a secret since, or was known to nobody there.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from itertools import groupby
from typing import Any

from agentflow.media.files import HASH, File
from agentflow.secrets.known import knows_any, without_known
from agentflow.store.portable import JSON_KINDS, TABLES, Portable, Row
from agentflow.text import digest
from agentflow.turn.rules.packed_json import pack, unpack

# table -> its texts that somebody wrote; every JSON column holds some
_TEXTS: Mapping[str, frozenset[str]] = {
    "turn": frozenset({"plan"}),
    "execution": frozenset({"plan"}),
    "message": frozenset({"content"}),
    "llm_call": frozenset({"checkpoint", "raw_reply"}),
    "tool_call": frozenset({"full_result"}),
    "hook_run": frozenset({"error"}),
    "feedback": frozenset({"comment"}),
    "agent_memory": frozenset({"topic", "content"}),
    "snapshot": frozenset({"problem"}),
}
_HASHES = frozenset({"config_hash", "prompt_hash", "tools_hash", "hash"})


def redacted(session: Portable) -> Portable:
    """The same session with `***`, or the variable that it came from, in the place of every secret.

    What is named by its hash has the hash of what it is then, wherever it is named.
    """
    if not knows_any():
        return session
    name = session.session["name"]
    told = {**session.session, "name": name and without_known(name)}
    return Portable(told, _rows(session.rows))


def _rows(rows: Iterator[tuple[str, Row]]) -> Iterator[tuple[str, Row]]:
    renamed: dict[str, str] = {}
    for table, of_table in groupby(rows, lambda each: each[0]):
        rename = _NAMED_BY_HASH.get(table)
        if rename is None:
            for _, row in of_table:
                yield table, _row(table, row, renamed)
            continue
        changed = {}
        for _, row in of_table:
            new = rename(row)
            renamed[row["hash"]] = new["hash"]
            changed[new["hash"]] = new  # two that differed in a secret alone are one
        for hash_ in sorted(changed):
            yield table, changed[hash_]


def _row(table: str, row: Row, renamed: Mapping[str, str]) -> Row:
    kinds, texts = _KINDS[table], _TEXTS.get(table, frozenset())
    return {column: _value(column, kinds[column], value, texts, renamed) for column, value in row.items()}


def _value(column: str, kind: str, value: Any, texts: frozenset[str], renamed: Mapping[str, str]) -> Any:
    if kind in JSON_KINDS:
        return _json(value, renamed)
    if not isinstance(value, str):
        return value
    if column in texts:
        return without_known(value)
    return renamed.get(value, value) if column in _HASHES else value


def _json(value: Any, renamed: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return renamed.get(value) or without_known(value)
    if isinstance(value, dict):
        return {without_known(key): _json(item, renamed) for key, item in value.items()}
    if isinstance(value, list):
        return [_json(item, renamed) for item in value]
    return value


def _blob(row: Row) -> Row:
    """A configuration may go by another hash than its text's, which it keeps; a file that is a text is read as one."""
    if HASH.fullmatch(row["hash"]):
        return _file(row)
    body = without_known(row["body"])
    return {"hash": digest(body) if digest(row["body"]) == row["hash"] else row["hash"], "body": body}


def _file(row: Row) -> Row:
    try:
        text = base64.b64decode(row["body"]).decode()
    except ValueError:  # no text
        return row
    told = without_known(text)
    return row if told == text else asdict(File.of(told.encode()))


def _data(row: Row) -> Row:
    data = unpack(row["body"])
    told = _json(data, {})
    if told == data:
        return row
    packed = pack(told)
    return {"hash": packed.hash, "body": packed.body}


_NAMED_BY_HASH: Mapping[str, Callable[[Row], Row]] = {"blob": _blob, "snapshot_data": _data}
_KINDS = {name: {column.name: column.kind for column in table.columns} for name, table in TABLES.items()}
