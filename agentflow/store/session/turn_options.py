"""What a turn's requests say, kept with the turn: the client tools once a session, the rest in the turn's row (C8)."""

from __future__ import annotations

from typing import Any, NamedTuple

from agentflow.conversation.inbox import Client, ClientTool, TurnOptions
from agentflow.store.rows.inserts import InsertBlob
from agentflow.store.rows.written import Row
from agentflow.store.sql.transaction import Tx
from agentflow.text import compact_json, digest, stored_json


class Kept(NamedTuple):
    """The two columns of the turn's row, and the rows that go with them."""

    request: str | None
    tools_hash: str | None
    rows: tuple[Row, ...]


def kept(options: TurnOptions) -> Kept:
    """How the options are stored; what says nothing is left out."""
    said: dict[str, Any] = {
        "inputs": options.inputs or None,
        "limits": options.limits or None,
        "client": options.client.as_dict() or None,
        "stream": options.stream,
    }
    said = {name: value for name, value in said.items() if value is not None}
    request = compact_json(said) if said else None
    if not options.tools:
        return Kept(request, None, ())
    tools = compact_json([tool.as_dict() for tool in options.tools])
    return Kept(request, digest(tools), (InsertBlob(digest(tools), tools),))


def read_options(tx: Tx, key: int, turn: int) -> TurnOptions:
    """The options of a turn as they hold now."""
    request, tools = tx.one(
        "SELECT turn.request, blob.body FROM turn LEFT JOIN blob ON blob.session_key = turn.session_key "
        "AND blob.hash = turn.tools_hash WHERE turn.session_key = ? AND turn.number = ?",
        key,
        turn,
    )
    said: dict[str, Any] = {} if request is None else stored_json(request)
    return TurnOptions(
        said.get("inputs", {}),
        said.get("limits", {}),
        () if tools is None else tuple(ClientTool(**tool) for tool in stored_json(tools)),
        Client(**said.get("client", {})),
        said.get("stream"),
    )
