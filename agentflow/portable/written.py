"""A session as JSON, one row a line: as one object, or as JSON Lines (R12).

The first line has the schema and the session, then come the rows, table by table; the last line of `jsonl` counts them,
so that a file that was cut is known.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from agentflow.store.portable import TABLES, Portable, Row
from agentflow.text import compact_json

SCHEMA = "agentflow.session/1"


def json_lines(session: Portable) -> Iterator[str]:
    """`{schema, session}`, then `{TABLE: ROW}` for each row, then `{end: ROWS}`."""
    yield compact_json({"schema": SCHEMA, "session": session.session}) + "\n"
    written = 0
    for table, row in session.rows:
        yield compact_json({table: _encoded(row)}) + "\n"
        written += 1
    yield compact_json({"end": written}) + "\n"


def json_object(session: Portable) -> Iterator[str]:
    """`{schema, session, rows: {TABLE: [ROW]}}` with every table."""
    yield f'{{"schema":{compact_json(SCHEMA)},\n"session":{compact_json(session.session)},\n"rows":{{'
    tables = iter(TABLES)
    before = ""
    for name, rows in groupby(session.rows, lambda each: each[0]):
        for table in tables:
            yield f"{before}\n{compact_json(table)}:["
            before = "],"
            if table == name:
                break
        for index, (_, row) in enumerate(rows):
            yield f"{',' if index else ''}\n{compact_json(_encoded(row))}"
    for table in tables:
        yield f"{before}\n{compact_json(table)}:["
        before = "],"
    yield "]}}\n"


def _encoded(row: Row) -> dict[str, Any]:
    """JSON has no bytes: they are written as base64."""
    return {
        name: base64.b64encode(value).decode() if isinstance(value, bytes) else value for name, value in row.items()
    }
