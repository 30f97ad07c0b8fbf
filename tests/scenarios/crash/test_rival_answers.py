"""Fifty answers to one question from several processes: one is accepted (C29, B53)."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

from tests.scenarios.crash import project as agents
from tests.scenarios.crash.program import opened
from tests.scenarios.invariants import check_session

PROCESSES, EACH = 3, 17


def rivals(project: Path, db: str, session: str, call_id: str) -> list[str]:
    """What became of each answer."""
    command = [sys.executable, "-m", "tests.scenarios.crash.rivals", str(project), db, session, call_id, str(EACH)]
    running = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(PROCESSES)
    ]
    for process in running:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in running:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    return [outcome for process in running for outcome in json.loads(process.communicate(timeout=60)[0])]


def test_of_fifty_answers_from_several_processes_one_is_accepted(project: Path, db: str) -> None:
    """T19, C29: the others are told so, the model reads one answer, no tool runs twice."""
    session = f"{db[:4]} rivals"

    async def ask() -> str:
        async with opened(project, db) as runtime:
            result = await runtime.run(session, "worker", "ask")
            assert result.question is not None
            return str(result.question["tool_call_id"])

    call_id = asyncio.run(ask())
    outcomes = Counter(rivals(project, db, session, call_id))
    assert outcomes.pop("done") == 1
    assert set(outcomes) <= {"question_already_answered", "turn_already_active"}
    assert sum(outcomes.values()) == PROCESSES * EACH - 1
    assert sorted(agents.marks(project, session)) == ["a", "b"]

    async def check() -> None:
        async with opened(project, db) as runtime:
            path = (await runtime.session(session))["messages"]
            assert sum(each.get("tool_call_id") == call_id for each in path) == 1
            await check_session(runtime, db, session)

    asyncio.run(check())
