"""The bytes of files, which a session keeps once under their hash (W4)."""

from __future__ import annotations

from collections.abc import Collection

from agentflow.errors import InvalidInput
from agentflow.media.files import hashes_in
from agentflow.message import Message
from agentflow.store.counted import KeptFiles
from agentflow.store.sql.transaction import Tx
from agentflow.text import stored_json

_BODY = "SELECT body FROM blob WHERE session_key = ? AND hash = ?"
# Calls that left a file out, of any turn: what a provider would not take once it takes no better on another branch.
_REFUSING = 'SELECT request FROM llm_call WHERE session_key = ? AND model = ? AND request LIKE \'%"refused":["file-%\''
_IS_THERE = "SELECT 1 FROM blob WHERE session_key = ? AND hash = ?"


def kept_files(tx: Tx, key: int, hashes: Collection[str], model: str) -> KeptFiles:
    """The session's files by hash; what is not there is left out."""
    found = {hash_: tx.one(_BODY, key, hash_) for hash_ in hashes}
    bodies = {hash_: row[0] for hash_, row in found.items() if row is not None}
    told = tx.all(_REFUSING, key, model) if model else ()
    refused = {hash_ for (request,) in told for hash_ in stored_json(request).get("files", {}).get("refused", ())}
    return KeptFiles(bodies, frozenset(refused))


def refuse_unknown_files(tx: Tx, key: int, message: Message) -> None:
    """Raise `InvalidInput` for a reference to a file that neither came along nor is kept in the session."""
    if not isinstance(message.content, list):
        return
    brought = {file.hash for file in message.files}
    for hash_ in hashes_in(message.content):
        if hash_ not in brought and tx.one(_IS_THERE, key, hash_) is None:
            raise InvalidInput(
                f"content: this session has no file {hash_}; send its data.", detail={"field": "content", "hash": hash_}
            )
