"""What `observability: false` takes away in the transaction that ends a turn (R5).

Steps keep their order and times, the turn its id, state and the code of its error; questions, name, memory, feedback,
counts and configuration stay.
"""

from __future__ import annotations

from agentflow.store.sql.transaction import Tx
from agentflow.text import compact_json, stored_json

NOT_KEPT = "What it said is not kept: observability is off."

_OF_THE_TURN = ("message", "execution", "llm_call", "tool_call", "todo_list", "state_version", "snapshot")
_COPIES = (  # they keep the turn of their originals (C10)
    "DELETE FROM message WHERE session_key = ? AND execution IN (SELECT number FROM execution "
    "WHERE session_key = ? AND turn = ?)"
)
_BLANKED = (
    "UPDATE turn SET request = NULL, tools_hash = NULL, plan = NULL, data = NULL, input = NULL, output = NULL, "
    "cache_read = NULL, cache_write = NULL, cost = NULL WHERE session_key = ? AND number = ?",
    "UPDATE step SET user_message_id = NULL, answer_id = NULL, answer_chars = NULL, first_token_ms = NULL "
    "WHERE session_key = ? AND turn = ?",
    "UPDATE question SET questions = '[]' WHERE kind = 'tools' AND session_key = ? AND turn = ?",
    "UPDATE hook_run SET error = NULL WHERE session_key = ? AND turn = ?",
)
_UNUSED = (
    "DELETE FROM branch WHERE session_key = ? AND NOT EXISTS (SELECT 1 FROM message "
    "WHERE message.session_key = branch.session_key AND message.branch = branch.number)",
    "DELETE FROM alias WHERE session_key = ? AND kind = 'message' AND NOT EXISTS (SELECT 1 FROM message "
    "WHERE message.session_key = alias.session_key AND message.id = alias.target)",
    "DELETE FROM blob WHERE session_key = ? "
    "AND NOT EXISTS (SELECT 1 FROM turn WHERE turn.session_key = blob.session_key "
    "AND hash IN (config_hash, tools_hash)) "
    "AND NOT EXISTS (SELECT 1 FROM execution WHERE execution.session_key = blob.session_key AND config_hash = hash) "
    "AND NOT EXISTS (SELECT 1 FROM llm_call WHERE llm_call.session_key = blob.session_key "
    "AND (hash IN (prompt_hash, tools_hash) OR request LIKE '%' || hash || '%')) "
    "AND NOT EXISTS (SELECT 1 FROM message WHERE message.session_key = blob.session_key "
    "AND parts LIKE '%' || hash || '%')",
    "DELETE FROM snapshot_data WHERE session_key = ? AND NOT EXISTS (SELECT 1 FROM snapshot "
    "WHERE snapshot.session_key = snapshot_data.session_key AND snapshot.hash = snapshot_data.hash)",
)
_LOGGED = (
    "SELECT seq, data FROM event WHERE session_key = ? AND turn = ? AND data IS NOT NULL "
    "AND seq > (SELECT after_seq FROM turn WHERE session_key = ? AND number = ?)"
)
# What hangs below a message that is gone is a root of its own.
_ROOTS = (
    "UPDATE branch SET parent = NULL WHERE session_key = ? AND parent IS NOT NULL "
    "AND NOT EXISTS (SELECT 1 FROM message WHERE message.session_key = branch.session_key "
    "AND message.branch = branch.parent AND message.depth = branch.fork_depth)"
)
_EVENT_KEYS_KEPT = frozenset(
    {
        "agent_id", "call_id", "code", "config_hash", "execution", "flow", "head_id", "id", "iteration", "model",
        "order", "outcome", "pending", "point", "purpose", "state", "sub", "tool_call_id", "turn_id",
    }
)  # fmt: skip


def erase(tx: Tx, key: int, turn: int) -> None:
    """Erase what a turn said and used, its texts in the log included; the path is empty afterwards."""
    tx.erased = True
    tx.execute(_COPIES, key, key, turn)
    for table in _OF_THE_TURN:
        tx.execute(f"DELETE FROM {table} WHERE session_key = ? AND turn = ?", key, turn)
    for text in _BLANKED:
        tx.execute(text, key, turn)
    _keep_code(tx, key, turn)
    for text in (_ROOTS, *_UNUSED):
        tx.execute(text, key)
    tx.execute("UPDATE session SET branch = NULL, depth = NULL WHERE key = ?", key)
    logged = tx.all(_LOGGED, key, turn, key, turn)
    for seq, data in logged:
        tx.execute("UPDATE event SET data = ? WHERE session_key = ? AND seq = ?", _without_texts(data), key, seq)


def _keep_code(tx: Tx, key: int, turn: int) -> None:
    """The message of an error may quote what was said."""
    row = tx.one("SELECT error FROM turn WHERE session_key = ? AND number = ? AND error IS NOT NULL", key, turn)
    if row is not None:
        kept = compact_json({"code": stored_json(row[0]).get("code"), "message": NOT_KEPT, "detail": {}})
        tx.execute("UPDATE turn SET error = ? WHERE session_key = ? AND number = ?", kept, key, turn)


def _without_texts(data: str) -> str:
    return compact_json(
        {name: value if name in _EVENT_KEYS_KEPT else None for name, value in stored_json(data).items()}
    )
