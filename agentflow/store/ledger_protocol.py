"""The Ledger protocol: what is kept beside a conversation's turns (R5-R12). Requests in, records out."""

from __future__ import annotations

from typing import Protocol

from agentflow.clock import Instant


class Ledger(Protocol):
    """What the engine asks of a database beside `Store`, under the same contract.

    Methods that write name the session's `key` and write nothing when the session is gone: what was erased does not
    come back (R12).
    """

    async def rate(self, key: int, step: int, rating: str, comment: str | None, at: Instant) -> bool:
        """Keep the rating of a step in place of an earlier one; false when there is no such step (R11)."""
