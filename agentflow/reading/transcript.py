"""The transcript of a path, and the full one across what was replaced (X20)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from agentflow.store.protocol import Store
from agentflow.store.records import PathEntry, SessionRecord

Compactions = Sequence[Mapping[str, Any]]
"""What each `context.replaced` of the session told, in order (X20)."""


async def transcript(store: Store, record: SessionRecord, *, whole: bool) -> dict[str, Any]:
    """`{messages, summary_id, previous_head_id}`: the path without what is hidden.

    The ids are of the compaction that the path begins with, null when it does not; its `previous_head_id` leads to
    what stood there before. With `whole` that is shown in its place, as far back as it goes.
    """
    path = await store.path(record.key, record.head, lean_before=None)
    compactions = await store.compactions(record.key)
    before = _before(compactions, path)
    shown = await _unfolded(store, record.key, path, before) if whole else path
    made = before[-1] if before else {"summary_id": None, "previous_head_id": None}
    return {
        "messages": [_shown(entry) for entry in shown if not entry.message.hidden],
        "summary_id": made["summary_id"],
        "previous_head_id": made["previous_head_id"],
    }


def _shown(entry: PathEntry) -> dict[str, Any]:
    shape = entry.message.as_dict()
    return shape if entry.copied_from is None else {**shape, "copied_from": entry.copied_from}


def _before(compactions: Compactions, path: Sequence[PathEntry]) -> Compactions:
    """The compactions up to the one that made this path's branch; empty when none did."""
    ids = {entry.message.id for entry in path}
    made = [index for index, told in enumerate(compactions) if ids & {told["summary_id"], told["head_id"]}]
    return compactions[: made[-1] + 1] if made else ()


async def _unfolded(store: Store, key: int, path: list[PathEntry], compactions: Compactions) -> list[PathEntry]:
    """The path with what a replace left out in place of its summary, and of that what an earlier one did."""
    while compactions:
        made = compactions[-1]
        before, branch = [await _path_to(store, key, made[name]) for name in ("previous_head_id", "head_id")]
        originals = {entry.message.id: entry.copied_from for entry in branch if entry.copied_from is not None}
        kept = {originals[entry.message.id] for entry in path if entry.message.id in originals}
        news = [entry for entry in path if entry.message.id not in originals and not entry.message.summary]
        path = [*_stood_for(before, kept, set(originals.values())), *news]
        compactions = _before(compactions[:-1], before)
    return path


def _stood_for(before: list[PathEntry], kept: Collection[str], copied: Collection[str]) -> list[PathEntry]:
    """What of the earlier path the later one stands for: through the last message that it still has, or, when it has
    left all that were copied, up to the first of those.
    """
    originals = [entry.copied_from or entry.message.id for entry in before]
    through = [index for index, original in enumerate(originals) if original in kept]
    if through:
        return before[: through[-1] + 1]
    return before[: next((index for index, original in enumerate(originals) if original in copied), len(before))]


async def _path_to(store: Store, key: int, message_id: str | None) -> list[PathEntry]:
    found = [] if message_id is None else await store.entries(key, [message_id])
    return await store.path(key, found[0].place, lean_before=None) if found else []
