"""Whether the data that flows load in a turn is snapshotted (R8). Pure."""

from __future__ import annotations

from hashlib import sha256
from typing import NamedTuple

from agentflow.config.agent_config import Settings

_SCALE = 2**64


class SnapshotDecision(NamedTuple):
    """`is_new`: to be kept with the session, which decides once."""

    taken: bool
    reason: str
    is_new: bool = False


def of_turn(environment: str, settings: Settings) -> SnapshotDecision | None:
    """What holds for this turn, whatever the session says; null where the session decides."""
    if not settings.observability:
        return SnapshotDecision(False, "observability is off")
    if environment == "evaluation":
        return SnapshotDecision(False, "environment evaluation")
    return SnapshotDecision(True, "environment studio") if environment == "studio" else None


def of_session(settings: Settings, session_id: str) -> SnapshotDecision:
    """What a session without a decision decides; a sample takes the same sessions in every process."""
    mode, rate = settings.snap_session_mode, settings.snap_session_rate
    if mode != "sample":
        return SnapshotDecision(mode == "all", f"snap_session_mode {mode}", is_new=True)
    drawn = int.from_bytes(sha256(f"snapshots of {session_id}".encode()).digest()[:8]) / _SCALE
    sign = "below" if drawn < rate else "not below"
    return SnapshotDecision(drawn < rate, f"sample: {drawn:.6f} is {sign} {rate:g}", is_new=True)
