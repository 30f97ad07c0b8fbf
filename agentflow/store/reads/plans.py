"""What a turn has planned: its plan and its todo lists (T32, T33)."""

from __future__ import annotations

from agentflow import events
from agentflow.store.records import Planned, TodoRecord
from agentflow.store.sql.transaction import Tx
from agentflow.text import stored_json

_LISTS = "SELECT execution, number, items FROM todo_list WHERE session_key = ? AND turn = ?"
# The log since the newest turn that ran began; the turns of an emptied queue never ran and have no configuration.
_LAST_TOLD = (
    "SELECT e.turn, e.ref FROM event e WHERE e.session_key = ? AND e.type = ? AND e.seq > coalesce((SELECT after_seq "
    "FROM turn WHERE session_key = ? AND config_hash <> '' ORDER BY number DESC LIMIT 1), 0) "
    "ORDER BY e.seq DESC LIMIT 1"
)
_CALLS = "SELECT 1 FROM llm_call WHERE session_key = ? AND execution = ? AND purpose = 'main' LIMIT 1"
_PLAN = (
    "SELECT CASE WHEN e.parent IS NULL THEN t.plan ELSE e.plan END FROM turn t JOIN execution e "
    "ON e.session_key = t.session_key AND e.turn = t.number WHERE t.session_key = ? AND t.number = ? AND e.number = ?"
)


def planned(tx: Tx, key: int, turn: int, execution: int) -> Planned:
    """What a step that resumes a run of the turn has to know of the steps before."""
    (plan,) = tx.one(_PLAN, key, turn, execution)
    return Planned(plan, tx.one(_CALLS, key, execution) is not None, newest(tx, key, turn, execution))


def newest(tx: Tx, key: int, turn: int, execution: int) -> TodoRecord | None:
    """The execution's list as it is now, if it has written one in this turn."""
    row = tx.one(f"{_LISTS} AND execution = ? ORDER BY number DESC LIMIT 1", key, turn, execution)
    return None if row is None else TodoRecord(turn, row[0], row[1], stored_json(row[2]))


def shown(tx: Tx, key: int) -> TodoRecord | None:
    """The list that clients were told of last (T32), null when there is none or it was dropped."""
    told = tx.one(_LAST_TOLD, key, events.TODOS_CHANGED, key)
    if told is None or told[1] is None:
        return None
    turn, (execution, number) = told[0], map(int, told[1].split(":"))
    row = tx.one(f"{_LISTS} AND execution = ? AND number = ?", key, turn, execution, number)
    return TodoRecord(turn, execution, number, [] if row is None else stored_json(row[2]))
