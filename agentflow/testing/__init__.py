"""The test kit: a whole runtime with scripted models, frozen time and no network, for synchronous tests.

pytest loads `agentflow.testing.plugin`, which gives a test the fixture `agentflow`, a `Kit`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentflow.testing.kit import Kit, ProcessKilled
    from agentflow.testing.network import NetworkRefused
    from agentflow.testing.stalls import LoopHeld, Stall, StallMeter

_HOME = {
    "Kit": "kit",
    "LoopHeld": "stalls",
    "NetworkRefused": "network",
    "ProcessKilled": "kit",
    "Stall": "stalls",
    "StallMeter": "stalls",
}

__all__ = ["Kit", "LoopHeld", "NetworkRefused", "ProcessKilled", "Stall", "StallMeter"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'agentflow.testing' has no attribute {name!r}")
    return getattr(importlib.import_module(f"agentflow.testing.{_HOME[name]}"), name)
