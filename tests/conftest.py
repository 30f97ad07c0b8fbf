"""Our own tests use the plugin we ship, also in a checkout that is not installed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from agentflow.secrets.known import _Known
from agentflow.testing import plugin


def pytest_configure(config: pytest.Config) -> None:
    if not config.pluginmanager.has_plugin("agentflow"):  # the entry point of an installed agentflow
        config.pluginmanager.register(plugin, "agentflow")


@pytest.fixture(autouse=True)
def no_secret_of_another_test() -> Iterator[None]:
    """What a test makes known as a secret is hidden from its own logs and errors only, for it may be any word."""
    shown, pattern = _Known.shown, _Known.pattern
    yield
    _Known.shown, _Known.pattern = shown, pattern
