"""The test kit: a whole runtime with scripted models, frozen time and no network, for synchronous tests.

pytest loads `agentflow.testing.plugin`, which gives a test the fixture `agentflow`, a `Kit`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentflow.testing.kit import Kit, ProcessKilled
    from agentflow.testing.network import NetworkRefused

__all__ = ["Kit", "NetworkRefused", "ProcessKilled"]


def __getattr__(name: str) -> Any:
    if name == "NetworkRefused":
        from agentflow.testing import network

        return network.NetworkRefused
    if name in __all__:
        from agentflow.testing import kit

        return getattr(kit, name)
    raise AttributeError(f"module 'agentflow.testing' has no attribute {name!r}")
