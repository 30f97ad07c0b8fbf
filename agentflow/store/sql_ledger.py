"""The ledger on a SQL database: every method is one job on the writer's or the reader's thread."""

from __future__ import annotations

from agentflow.clock import Instant
from agentflow.store.ledger import feedback
from agentflow.store.sql.reader import Reader
from agentflow.store.sql.writer import Writer


class SqlLedger:
    """Implements `Ledger` (its contract stands there) on the threads of its store."""

    def __init__(self, writer: Writer, reader: Reader) -> None:
        self._writer = writer
        self._reader = reader

    async def rate(self, key: int, step: int, rating: str, comment: str | None, at: Instant) -> bool:
        return await self._writer.run(lambda tx: feedback.rate(tx, key, step, rating, comment, at), key)
