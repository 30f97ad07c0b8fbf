"""Sessions that nobody used for long are deleted, as agent.yaml and agentflow.yaml say (R12)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from agentflow import clock
from agentflow.clock import SECOND, Instant
from agentflow.config.last_good import AgentFiles
from agentflow.conversation.wire import refuse
from agentflow.live.owner import is_alive
from agentflow.store.protocol import Store
from agentflow.store.sweeping import DeleteUnused, ListUnused, Unused
from agentflow.text import stored_json

HOUR: Instant = 3600 * SECOND
DAY: Instant = 24 * HOUR
LEASE: Instant = 60 * SECOND
_UNITS = {"h": HOUR, "d": DAY, "w": 7 * DAY}
_AGE = re.compile(r"([1-9]\d{0,5})([hdw])")
_TOGETHER = 20  # sessions in one transaction: the writer is not held for long

Cutoff = Callable[[Unused], Instant | None]
"""Before which moment a session has to be last used to be deleted; null to keep it."""


def age_of(text: Any) -> Instant:
    """An age as people write it: `12h`, `30d`, `8w`. Raises `InvalidInput`."""
    found = _AGE.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        refuse("older_than", f"must be a number of hours, days or weeks, as 12h, 30d or 8w, not {text!r}.")
    return int(found[1]) * _UNITS[found[2]]


@dataclass(slots=True)
class Swept:
    """What a sweep has deleted, or would; which sessions it left and why; whether it was ours to do."""

    deleted: list[str] = field(default_factory=list)
    skipped: list[dict[str, str]] = field(default_factory=list)
    swept: bool = True
    dry_run: bool = False

    def as_dict(self) -> dict[str, Any]:
        return {
            "deleted": self.deleted, "skipped": self.skipped, "swept": self.swept, "dry_run": self.dry_run,
        }  # fmt: skip


class Retention:
    """Sweeps of one store, by what the project's files say; of an agent that has none any more, by its last turn."""

    def __init__(self, store: Store, files: AgentFiles) -> None:
        self._ledger = store.ledger
        self._files = files

    async def sweep(self, age: Instant | None, *, dry_run: bool) -> Swept:
        """Delete what is older than `age`, else what each agent keeps no longer; only look with `dry_run`.

        One process sweeps at a time; whoever loses the lease stops.
        """
        now, owner = clock.instant(), clock.uuid7()
        result = Swept(dry_run=dry_run)
        if dry_run:
            await self._agents(now, age, None, result)
            return result
        result.swept = await self._ledger.take_sweep(owner, now, now + LEASE)
        if result.swept:
            try:
                await self._agents(now, age, owner, result)
            finally:
                await self._ledger.end_sweep(owner)
        return result

    async def _agents(self, now: Instant, age: Instant | None, owner: str | None, result: Swept) -> None:
        for agent in await self._ledger.agents():
            latest, cutoff = self._policy(agent, now, age)
            if latest is not None and not await self._sessions(agent, latest, cutoff, owner, result):
                result.swept = False
                return

    def _policy(self, agent: str, now: Instant, age: Instant | None) -> tuple[Instant | None, Cutoff]:
        """The latest moment before which a session of this agent may be deleted, and that of each."""
        days = None if age is not None else self._files.retention_days(agent)
        if age is None and days is None:
            return now, lambda session: _before(now, self._stored_days(session.config) * DAY)
        moment = _before(now, age if age is not None else (days or 0) * DAY)
        return moment, lambda session: moment

    def _stored_days(self, config: str | None) -> int:
        settings = stored_json(config or "{}").get("settings", {})
        days = settings.get("retention_days")
        return self._files.project.keys.retention_days if days is None else int(days)

    async def _sessions(self, agent: str, latest: Instant, cutoff: Cutoff, owner: str | None, result: Swept) -> bool:
        """Whether it could be done to the end."""
        asked = ListUnused(agent, latest, is_alive)
        while page := await self._ledger.unused(asked):
            due = [(each, before) for each in page if (before := cutoff(each)) is not None and each.used_at < before]
            result.skipped += [{"session_id": each.id, "why": each.busy} for each, _ in due if each.busy is not None]
            free = [(each, before) for each, before in due if each.busy is None]
            if owner is None:
                result.deleted += [each.id for each, _ in free]
            elif not await self._delete(owner, free, result):
                return False
            asked = replace(asked, after_key=page[-1].key)
        return True

    async def _delete(self, owner: str, free: Sequence[tuple[Unused, Instant]], result: Swept) -> bool:
        for start in range(0, len(free), _TOGETHER):
            at = clock.instant()
            sessions = {each.key: before for each, before in free[start : start + _TOGETHER]}
            gone = await self._ledger.delete_unused(DeleteUnused(owner, at, at + LEASE, sessions, is_alive))
            if gone is None:
                return False
            result.deleted += gone
        return True


def _before(now: Instant, age: Instant) -> Instant | None:
    return max(now - age, 0) if age else None
