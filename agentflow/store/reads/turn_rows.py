"""Everything a turn has left in the store, as rows by table, for whoever shows it (R6)."""

from __future__ import annotations

from typing import Any

from agentflow import events
from agentflow.store.reads.messages import CONTENT, ORIGINAL
from agentflow.store.records import Record, TurnRows
from agentflow.store.rows.messages import message_of
from agentflow.store.sql.transaction import Tx

# table -> its columns, as they are selected
_COLUMNS = {
    "turn": "number, id, state, config_hash, created_at, ended_at, plan, limit_name, error, data, input, output, "
    "cache_read, cache_write, cost, after_seq",
    "step": "number, state, opened_at, completed_at, first_token_ms, user_message_id, answer_id",
    "execution": "number, turn, agent, config_hash, status, started_at, duration_ms, parent, parent_call_id, plan",
    "llm_call": "id, execution, step, iteration, purpose, model, status, requested_at, duration_ms, first_token_ms, "
    "attempts, finish_reason, finish_word, input, output, cache_read, cache_write, cost, error, request",
    "tool_call": "execution, id, reply_id, name, status, started_at, duration_ms, ok, result_id, full_result, altered",
    "question": "execution, call_id, kind, state, questions, asked_at, expires_at",
    "todo_list": "execution, number, items",
    "hook_run": "step, number, at, duration_ms",
    "feedback": "step, rating, comment",
}
_OF_TURN = ("step", "execution", "llm_call", "tool_call", "question", "todo_list", "hook_run")
_LOG = "SELECT seq, at, type, ref, data FROM event WHERE session_key = ? AND seq > ? AND turn = ? ORDER BY seq"
_MESSAGES = (
    f"SELECT {CONTENT} FROM event e JOIN message m ON m.session_key = e.session_key AND m.id = e.ref {ORIGINAL} "
    f"WHERE e.session_key = ? AND e.seq > ? AND e.turn = ? AND e.type = '{events.MESSAGE_NEW}'"
)


def turn_rows(tx: Tx, key: int, number: int | None) -> TurnRows | None:
    """The turn of this number, the newest for null; null when there is none."""
    chosen = "1 = 1 ORDER BY number DESC LIMIT 1" if number is None else "number = ?"
    turns = _rows(tx, "turn", chosen, key, *([] if number is None else [number]))
    if not turns:
        return None
    turn = turns[0]
    here = (key, turn["after_seq"], turn["number"])
    log = [dict(zip(("seq", "at", "type", "ref", "data"), row, strict=True)) for row in tx.all(_LOG, *here)]
    messages = {row[0]: message_of(row) for row in tx.all(_MESSAGES, *here)}
    steps, executions, llm_calls, tool_calls, questions, todo_lists, hook_runs = (
        _rows(tx, table, "turn = ?", key, turn["number"]) for table in _OF_TURN
    )
    rated = "step IN (SELECT number FROM step WHERE session_key = feedback.session_key AND turn = ?)"
    ratings = {row["step"]: row for row in _rows(tx, "feedback", rated, key, turn["number"])}
    for step in steps:
        step["feedback"] = ratings.get(step["number"])
    after = "turn = 0 AND step IN (SELECT number FROM step WHERE session_key = llm_call.session_key AND turn = ?)"
    naming = _rows(tx, "llm_call", f"{after} ORDER BY requested_at, id", key, turn["number"])
    return TurnRows(
        turn, steps, executions, llm_calls, tool_calls, questions, todo_lists, hook_runs, log, messages, naming
    )  # fmt: skip


def executions(tx: Tx, key: int) -> list[Record]:
    """The runs of agents of all turns that the session still has."""
    return _rows(tx, "execution", "1 = 1 ORDER BY number", key)


def _rows(tx: Tx, table: str, where: str, *params: Any) -> list[Record]:
    columns = _COLUMNS[table]
    found = tx.all(f"SELECT {columns} FROM {table} WHERE session_key = ? AND {where}", *params)
    return [dict(zip(columns.split(", "), row, strict=True)) for row in found]
