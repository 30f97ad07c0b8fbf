"""A process to be killed, a project, and the two databases a crash must not hurt."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from agentflow.testing.postgres import schema
from tests.scenarios.crash import project as agents

Deaths = Callable[[str], Iterator[tuple[str, bool]]]


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
def deaths(program: subprocess.Popen[str], project: Path, db: str) -> Iterator[Deaths]:
    """Perform a kind of turn once for each of its commits, killed right after it, and once whole.

    Gives each session, and whether its process was killed; the next process runs while a session is looked at.
    """
    assert program.stdin is not None
    assert program.stdout is not None
    orders, outcomes, waiting = program.stdin, program.stdout, [0]

    def start(kind: str, commit: int) -> str:
        session = f"{db[:4]} {kind} {commit}"
        order = {"kind": kind, "commit": commit, "project": str(project), "db": db, "session": session}
        orders.write(json.dumps(order) + "\n")
        orders.flush()
        waiting[0] += 1
        return session

    def outcome_of_the_first() -> Any:
        waiting[0] -= 1
        return json.loads(outcomes.readline())

    def perform(kind: str) -> Iterator[tuple[str, bool]]:
        session = start(kind, 1)
        for commit in count(2):
            following = start(kind, commit)
            outcome = outcome_of_the_first()
            assert outcome in ("killed", "whole"), outcome
            yield session, outcome == "killed"
            if outcome == "whole":
                return
            session = following

    yield perform
    while waiting[0]:
        outcome_of_the_first()
