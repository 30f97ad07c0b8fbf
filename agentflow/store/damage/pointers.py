"""Which row a column names, as data: a row that is not there is damage. A number of 0 names nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from agentflow import events
from agentflow.store.damage.words import COUNTED_BY
from agentflow.store.portable import SESSION, TABLES


class Pointer(NamedTuple):
    """`columns` of `table` have the values of `named` in a row of `target`; only in rows for which `where` holds."""

    table: str
    columns: tuple[str, ...]
    target: str
    named: tuple[str, ...]
    where: str

    @property
    def problem(self) -> str:
        return f"name a row of {self.target}"


_CONFIGURED = "t.config_hash <> ''"  # a turn of a queue that was emptied never ran
_OPEN = "t.state IN ('running', 'paused_ask_user')"  # what has ended may be erased (R5)

# table, its columns → the table they name a row of, its columns; and for which rows
_POINTERS = (
    ("session", "branch depth", "message", "branch depth"),
    ("session", "turn", "turn", "number"),
    ("turn", "config_hash", "blob", "hash", _CONFIGURED),
    ("turn", "tools_hash", "blob", "hash"),
    ("turn", "execution", "execution", "number", _OPEN),
    ("turn", "number", "step", "turn", _CONFIGURED),
    ("turn", "number", "execution", "turn", _OPEN),
    ("step", "turn", "turn", "number"),
    ("execution", "turn", "turn", "number"),
    ("execution", "config_hash", "blob", "hash", _CONFIGURED),
    ("execution", "parent", "execution", "number"),
    ("event", "turn", "turn", "number"),
    ("branch", "parent", "branch", "number"),
    ("branch", "execution", "execution", "number"),
    ("message", "branch", "branch", "number"),
    ("message", "turn", "turn", "number"),
    ("message", "execution", "execution", "number"),
    ("message", "copied_from", "message", "id"),
    ("llm_call", "turn", "turn", "number"),
    ("llm_call", "execution", "execution", "number"),
    ("llm_call", "prompt_hash", "blob", "hash"),
    ("llm_call", "tools_hash", "blob", "hash"),
    ("tool_call", "turn", "turn", "number"),
    ("tool_call", "execution", "execution", "number"),
    ("tool_call", "reply_id", "message", "id"),
    ("question", "turn", "turn", "number"),
    ("question", "execution call_id", "tool_call", "execution id", "t.state = 'pending'"),
    ("todo_list", "turn", "turn", "number"),
    ("todo_list", "execution", "execution", "number"),
    ("event", "turn ref", "question", "turn call_id", f"t.type IN ('{events.ASK_USER}', '{events.CLIENT_TOOLS}')"),
    ("event", "ref", "step", "number", f"t.type = '{events.DONE}'"),
    ("snapshot", "hash", "snapshot_data", "hash"),
)
POINTERS = tuple(
    Pointer(table, tuple(columns.split()), target, tuple(named.split()), "".join(where))
    for table, columns, target, named, *where in _POINTERS
)

_IN_BRANCH = "x WHERE x.session_key = t.session_key AND x.branch ="
_FORK = "(SELECT b.fork_depth FROM branch b WHERE b.session_key = t.session_key AND b.number = t.{})"

# table → column, the condition for rows t that stand wrong in the tree (C5), what the column must be
_TREE: Mapping[str, tuple[tuple[str, str, str], ...]] = {
    "message": (
        ("depth", f"t.depth <= {_FORK.format('branch')}", "more than the fork_depth of its branch"),
        (
            "depth",
            f"t.depth > {_FORK.format('branch')} + 1 "
            f"AND NOT EXISTS (SELECT 1 FROM message {_IN_BRANCH} t.branch AND x.depth = t.depth - 1)",
            "one more than that of a message before it",
        ),
    ),
    "branch": (
        ("execution", "t.execution IS NOT NULL AND s.branch = t.number", "null where the head of the session is"),
        (
            "fork_depth",
            f"t.fork_depth > {_FORK.format('parent')} "
            f"AND NOT EXISTS (SELECT 1 FROM message {_IN_BRANCH} t.parent AND x.depth = t.fork_depth)",
            "the depth of a message of its parent",
        ),
    ),
}

_TEXTS = {
    (name, column.name)
    for name, columns in (("session", SESSION), *((name, table.columns) for name, table in TABLES.items()))
    for column in columns
    if column.kind == "text"
}


def missing(pointer: Pointer) -> str:
    """The condition for rows `t` whose pointer leads nowhere."""
    key = "key" if pointer.table == "session" else "session_key"
    pairs = zip(pointer.columns, pointer.named, strict=True)
    named = " AND ".join(_same(pointer.table, column, pointer.target, name) for column, name in pairs)
    first = pointer.columns[0]
    something = f"t.{first} IS NOT NULL" if (pointer.table, first) in _TEXTS else f"t.{first} <> 0"
    where = f" AND {pointer.where}" if pointer.where else ""
    return (
        f"{something}{where} AND NOT EXISTS "
        f"(SELECT 1 FROM {pointer.target} x WHERE x.session_key = t.{key} AND {named})"
    )


def _same(table: str, column: str, target: str, name: str) -> str:
    """A number may stand in a text."""
    both_texts = ((table, column) in _TEXTS) == ((target, name) in _TEXTS)
    return f"x.{name} = t.{column}" if both_texts else f"CAST(x.{name} AS TEXT) = t.{column}"


def misplaced(table: str) -> Iterator[tuple[str, str, str]]:
    """`(column, condition for rows t that stand wrong in the tree of their session s, or count too far in it, what the
    column must be)`.
    """
    yield from _TREE.get(table, ())
    own = {"turn": "turns", "step": "steps", "execution": "executions", "branch": "branches"}
    for column in TABLES[table].columns:
        counter = own.get(table) if column.name == "number" else COUNTED_BY.get(column.name)
        if counter is not None:
            yield column.name, f"t.{column.name} > s.{counter}", f"at most session.{counter}"
