"""What is made again of every model call of a scenario is what its model was handed (R5)."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import AsyncGenerator
from typing import Any

from agentflow import ModelRequest, ScriptedModel
from agentflow.models.protocol import Delta
from agentflow.reading.lookup import session_of
from agentflow.reading.sent_request import sent_request
from agentflow.store.sql_store import SqlStore
from tests.scenarios.support import rows

_KEPT = (
    "SELECT session.id, llm_call.id FROM llm_call JOIN session ON session.key = llm_call.session_key "
    "WHERE llm_call.request IS NOT NULL"
)
_STREAM = ScriptedModel.stream


class SentRequests:
    """Hears what every scripted model of this process is asked; the last attempt of a call counts."""

    def __init__(self) -> None:
        self.asked: dict[str, tuple[Any, Any]] = {}

    def stream(self, model: ScriptedModel, request: ModelRequest) -> AsyncGenerator[Delta, None]:
        """In place of `ScriptedModel.stream`, which it calls."""
        self.asked[request.call_id] = copy.deepcopy((list(request.messages), list(request.tools)))
        return _STREAM(model, request)

    def check(self, db: str) -> None:
        """Compare with what a reader of another process makes again."""
        for session_id, call_id in rows(db, _KEPT):
            if call_id in self.asked:
                again = asyncio.run(_again(db, session_id, call_id))
                assert (again["messages"], again["tools"]) == self.asked[call_id], call_id


async def _again(db: str, session_id: str, call_id: str) -> dict[str, Any]:
    store = SqlStore.open(db, read_only=True)
    try:
        return await sent_request(store, await session_of(store, session_id), call_id, None)
    finally:
        await store.close()
