"""Snapshots as people read them (R8)."""

from __future__ import annotations

from typing import Any

from agentflow import clock
from agentflow.store.records import SnapshotRecord


def as_dict(number: int, record: SnapshotRecord) -> dict[str, Any]:
    """One snapshot; `number` counts those of its session from 1."""
    return {
        "number": number,
        "step_order": record.step,
        "turn_id": record.turn_id,
        "entity": record.entity,
        "key": record.entity_key,
        "hash": record.hash,
        "chars": record.chars,
        "problem": record.problem,
        "at": clock.rfc3339(record.at),
    }
