"""Opening a database as a store does; it imports what the store imports, nothing else."""

from __future__ import annotations

import asyncio

from agentflow.store.sql.database import open_database
from agentflow.store.sql.reader import Reader


def use(url: str) -> None:
    """Open the database as a store does, and read from it."""

    async def read() -> None:
        reader = Reader(open_database(url))
        try:
            await reader.run(lambda tx: tx.all("SELECT id FROM session"))
        finally:
            await reader.close()

    asyncio.run(read())
