"""What goes out to a model: valid for a provider, and what the path says (T7, C2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agentflow import ModelRequest
from agentflow.message import text_of
from agentflow.store.reads.messages import path
from agentflow.store.session.session_row import SessionRow
from agentflow.store.sql.transaction import Tx
from tests.simulation.agents import AGENTS
from tests.simulation.ledger import Violation
from tests.simulation.rows import Rows

_CALL = (
    "SELECT session.key, session.agent, llm_call.execution, llm_call.purpose, (SELECT min(number) FROM execution "
    "WHERE execution.session_key = llm_call.session_key AND execution.turn = llm_call.turn), llm_call.turn "
    "FROM llm_call "
    "JOIN session ON session.key = llm_call.session_key WHERE llm_call.id = ? AND session.id = ?"
)


def check_request(rows: Rows, request: ModelRequest) -> None:
    """Raises `Violation`."""
    messages = list(request.messages)
    _check_wire(messages, f"{request.session_id} {request.call_id}")
    found = rows.all(_CALL, request.call_id, request.session_id)
    if not found:
        raise Violation("a model call that nobody recorded", f"{request.session_id} {request.call_id}")
    key, agent, execution, purpose, main, turn = found[0]
    if purpose != "main" or execution != main or AGENTS[agent]["settings"].get("lean_history", True):
        return
    tx = Tx(rows.select.connection.cursor(), "sqlite")
    session = SessionRow.by_key(tx, key)
    if session is None or session.turn != turn:  # taken over meanwhile: it will hear so at its next write (C35)
        return
    stored = [_said(entry.message.role, entry.message.content) for entry in path(tx, key, session.head, None)]
    sent = [_said(each["role"], each.get("content")) for each in messages if each["role"] != "system"]
    recorded = [each for each in stored if each[0] != "system"]
    if sorted(sent) != sorted(recorded):
        detail = f"{request.session_id} {request.call_id} sends {sent}, the path has {recorded}"
        raise Violation("a request is not its path", detail)


def _said(role: str, content: Any) -> tuple[str, str]:
    return role, text_of(content)


def _check_wire(messages: Sequence[dict[str, Any]], where: str) -> None:
    waiting: list[str] = []
    taken: set[str] = set()
    for message in messages:
        if message["role"] == "tool":
            if not waiting or message["tool_call_id"] != waiting.pop(0):
                raise Violation("a request no provider takes", f"{where}: a result out of place: {message}")
            continue
        ids = [call["id"] for call in message.get("tool_calls") or ()]
        if waiting or len(set(ids)) < len(ids) or taken & set(ids):
            raise Violation("a request no provider takes", f"{where}: {waiting} open or {ids} twice: {message}")
        waiting = list(ids)
        taken |= set(ids)
        if not message.get("content") and not waiting:
            raise Violation("a request no provider takes", f"{where}: an empty message: {message}")
    if waiting:
        raise Violation("a request no provider takes", f"{where}: calls without a result: {waiting}")
