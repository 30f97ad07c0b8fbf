"""The test kit: a whole runtime with scripted models, frozen time and no network, for synchronous tests.

pytest loads `agentflow.testing.plugin`, which gives a test the fixture `agentflow`, a `Kit`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentflow.testing.kit import Kit, ProcessKilled
    from agentflow.testing.network import NetworkRefused
    from agentflow.testing.scenarios.capturing import capture_scenario
    from agentflow.testing.scenarios.crashes import Crashed, at_every_crash, crashed_everywhere
    from agentflow.testing.scenarios.files import scenario_files
    from agentflow.testing.scenarios.running import Outcome, run_scenario
    from agentflow.testing.stalls import LoopHeld, Stall, StallMeter

_HOME = {
    "Crashed": "scenarios.crashes",
    "Kit": "kit",
    "LoopHeld": "stalls",
    "NetworkRefused": "network",
    "Outcome": "scenarios.running",
    "ProcessKilled": "kit",
    "Stall": "stalls",
    "StallMeter": "stalls",
    "at_every_crash": "scenarios.crashes",
    "capture_scenario": "scenarios.capturing",
    "crashed_everywhere": "scenarios.crashes",
    "run_scenario": "scenarios.running",
    "scenario_files": "scenarios.files",
}

__all__ = [
    "Crashed",
    "Kit",
    "LoopHeld",
    "NetworkRefused",
    "Outcome",
    "ProcessKilled",
    "Stall",
    "StallMeter",
    "at_every_crash",
    "capture_scenario",
    "crashed_everywhere",
    "run_scenario",
    "scenario_files",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'agentflow.testing' has no attribute {name!r}")
    return getattr(importlib.import_module(f"agentflow.testing.{_HOME[name]}"), name)
