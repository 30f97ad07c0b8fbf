"""A test whose rows matter runs on both databases: `agentflow_db = on_both_databases` in its file says so."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentflow.testing.postgres import schema


@pytest.fixture(params=["file", "postgres"])
def on_both_databases(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of an empty database: a SQLite file, and a schema of its own on a server if there is one."""
    if request.param == "file":
        yield f"sqlite:///{tmp_path / 'sessions.db'}"
        return
    server = os.environ.get("AGENTFLOW_TEST_POSTGRES")
    if server is None:
        pytest.skip("AGENTFLOW_TEST_POSTGRES is not set")
    with schema(server) as url:
        yield url
