"""Our own tests use the plugin we ship, also in a checkout that is not installed."""

from __future__ import annotations

import pytest

from agentflow.testing import plugin


def pytest_configure(config: pytest.Config) -> None:
    if not config.pluginmanager.has_plugin("agentflow"):  # the entry point of an installed agentflow
        config.pluginmanager.register(plugin, "agentflow")
