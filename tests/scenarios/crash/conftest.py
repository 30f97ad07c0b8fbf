"""A process to be killed, a project, and the two databases a crash must not hurt."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agentflow.testing.postgres import schema
from tests.scenarios.crash import project as agents

Dies = Callable[..., bool]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("crash")
    agents.write(folder)
    return folder


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def db(request: pytest.FixtureRequest, project: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{project / 'crash.db'}?synchronous=normal"
        return
    server = os.environ.get("AGENTFLOW_TEST_POSTGRES")
    if server is None:
        pytest.skip("AGENTFLOW_TEST_POSTGRES is not set")
    with schema(server) as url:
        yield url


@pytest.fixture(scope="module")
def program() -> Iterator[subprocess.Popen[str]]:
    running = subprocess.Popen(
        [sys.executable, "-m", "tests.scenarios.crash.program"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    with running:
        yield running
        assert running.stdin is not None
        running.stdin.close()


@pytest.fixture
def dies(program: subprocess.Popen[str], project: Path, db: str) -> Dies:
    """Perform a kind of turn in a process that is killed after a commit; false when it had no such commit."""

    def perform(kind: str, commit: int, session: str) -> bool:
        order: dict[str, Any] = {
            "kind": kind, "commit": commit, "project": str(project), "db": db, "session": session,
        }  # fmt: skip
        assert program.stdin is not None
        assert program.stdout is not None
        program.stdin.write(json.dumps(order) + "\n")
        program.stdin.flush()
        outcome = json.loads(program.stdout.readline())
        assert outcome in ("killed", "whole"), outcome
        return bool(outcome == "killed")

    return perform
