"""What a model call's exact request is made again from (R5)."""

from __future__ import annotations

from agentflow import events
from agentflow.store.counted import SentCall
from agentflow.store.sql.transaction import Tx
from agentflow.text import stored_json

_REQUESTED = (
    "SELECT ref FROM event WHERE session_key = ? AND turn = ? AND seq > (SELECT after_seq FROM turn "
    f"WHERE session_key = ? AND number = ?) AND type = '{events.LLM_CALL_REQUESTED}' ORDER BY seq LIMIT 1 OFFSET ?"
)
_BLOB = "SELECT body FROM blob WHERE session_key = ? AND hash = ?"
_CALL = (
    "SELECT id, purpose, model, branch, depth, prompt_hash, tools_hash, request FROM llm_call "
    "WHERE session_key = ? AND id = ?"
)


def sent(tx: Tx, key: int, turn: int, call: int | str) -> SentCall | None:
    """The call of this id, or the turn's call of this number from 1; null when there is none, without a model when
    it was erased with its turn.
    """
    call_id = call
    if isinstance(call, int):
        requested = tx.one(_REQUESTED, key, turn, key, turn, call - 1)
        call_id = "" if requested is None else requested[0]
    row = tx.one(_CALL, key, call_id)
    if row is None and isinstance(call, int) and call_id:
        return SentCall(str(call_id), "", "", None, None, None, None, None, {})
    if row is None:
        return None
    id_, purpose, model, branch, depth, prompt, tools, request = row
    made = {} if request is None else stored_json(request)
    names = {
        prompt,
        tools,
        made.get("messages"),
        made.get("parameters"),
        *made.get("texts", ()),
        *made.get("changed", ())[2:],
    } - {None}
    blobs = {name: tx.one(_BLOB, key, name)[0] for name in sorted(names)}
    return SentCall(id_, purpose, model, branch, depth, prompt, tools, request, blobs)


def blob(tx: Tx, key: int, hash_: str) -> str | None:
    """A text by its hash."""
    row = tx.one(_BLOB, key, hash_)
    return None if row is None else str(row[0])
