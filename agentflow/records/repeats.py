"""Answers to requests that were sent with a key of their own: the same request again is answered again (S7).

A key names a request for a day. Whoever begins one has it until the answer is kept or dropped, or its process is gone.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from agentflow import clock
from agentflow.clock import Instant
from agentflow.live.owner import Owner, is_alive
from agentflow.store.ledger_protocol import Ledger

KEPT: Instant = 24 * 3600 * clock.SECOND
LEASE: Instant = 60 * clock.SECOND


class Begun(NamedTuple):
    """What a request with a key meets.

    `mine`: it is to be answered; `kept`: it was, by `answer`; `running`: somebody is at it; `other`: the key named
    another request.
    """

    state: Literal["mine", "kept", "running", "other"]
    answer: str | None = None


class Repeats:
    """The keys of a project's database; reached as `runtime.repeats`."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._owner = Owner()

    async def begin(self, name: str, fingerprint: str) -> Begun:
        """Begin the request of this name, unless that was done; `fingerprint` tells its content."""
        at = clock.instant()
        found = await self._ledger.begin_request(
            name, fingerprint, self._owner.text, at, at + LEASE, at - KEPT, is_alive
        )
        if found is None:
            return Begun("mine")
        if found.fingerprint != fingerprint:
            return Begun("other")
        return Begun("running") if found.answer is None else Begun("kept", found.answer)

    async def keep(self, name: str, answer: str) -> None:
        """Keep the answer of a request that was begun here."""
        await self._ledger.end_request(name, self._owner.text, answer)

    async def drop(self, name: str) -> None:
        """Forget a request that was begun here: it had no effect, and may be sent again."""
        await self._ledger.end_request(name, self._owner.text, None)

    async def forget(self) -> None:
        """Delete what is older than a day."""
        await self._ledger.forget_requests(clock.instant() - KEPT)
