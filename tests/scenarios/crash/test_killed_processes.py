"""A process is killed after each commit of each kind of turn; the next request just works (T27-T30, C36)."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from agentflow import ModelRequest, Runtime, ScriptedModel
from tests.scenarios.crash import project as agents
from tests.scenarios.crash.conftest import Deaths
from tests.scenarios.crash.program import KINDS
from tests.scenarios.invariants import check_once, check_session, check_wire, everything

HANGS_SECS = 30


def opened(project: Path, db: str, requests: list[ModelRequest]) -> Runtime:
    """The next process: its model only says "fine"."""

    def fine(request: ModelRequest) -> dict[str, Any]:
        requests.append(request)
        return {"text": "fine"}

    return Runtime.open(
        project, db=db, flows=agents.flows(project), open_model=lambda *_: ScriptedModel(fine)
    )  # fmt: skip


async def shown(runtime: Runtime, db: str, session: str) -> dict[str, Any]:
    """The status of a session, asked in every way there is; a read writes nothing (T29)."""
    before = everything(db, session)
    status = await runtime.status(session)
    (listed,) = [each for each in await runtime.sessions(limit=500) if each["session_id"] == session]
    assert listed["status"] == status["status"]
    assert (await runtime.session(session))["status"] == status["status"]
    await runtime.tree(session)
    await runtime.trace(session)
    if status["status"] == "aborted":
        turn_id = status["turn_id"]
        told = [event async for event in runtime.events(session, turn_id=turn_id)]
        assert (told[-1].type, told[-1].data["aborted"]) == ("done", True)
        assert (await runtime.result(session, turn_id)).state == "aborted"
    assert everything(db, session) == before
    return status


async def goes_on(runtime: Runtime, db: str, session: str, requests: list[ModelRequest]) -> None:
    """The next request succeeds first time, and leaves nothing to repair."""
    status = await runtime.status(session)
    answering = {"type": "client.message", "message": {"role": "user", "content": "next"}}
    receipt = await runtime.submit(session, answering)
    result = await runtime.result(session, receipt.turn_id)
    assert (result.state, result.answer) == ("done", "fine")
    if status["pending"]:
        assert result.turn_id == status["turn_id"]
        told = [each["content"] for each in requests[0].messages if each.get("tool_call_id") == status["tool_call_id"]]
        assert told == ["Place: next"]
    for request in requests:
        check_wire(request.messages)
    assert (await runtime.status(session))["status"] == "idle"
    assert (await runtime.status(session))["queued"] == 0
    await check_session(runtime, db, session)


async def needs_no_second_repair(runtime: Runtime, db: str, session: str) -> None:
    before = everything(db, session)
    assert (await runtime.stop(session))["outcome"] == "nothing_to_stop"
    assert everything(db, session) == before


async def next_process(project: Path, db: str, session: str) -> str:
    """The status that the next process finds, which then goes on."""
    requests: list[ModelRequest] = []
    marks = agents.marks(project, session)
    async with asyncio.timeout(HANGS_SECS), opened(project, db, requests) as runtime:
        status = await shown(runtime, db, session)
        await goes_on(runtime, db, session, requests)
        await needs_no_second_repair(runtime, db, session)
    check_once(marks)
    assert agents.marks(project, session) == marks
    return str(status["status"])


@pytest.mark.parametrize("name", KINDS)
def test_a_turn_killed_after_any_commit_is_repaired_by_the_next_request(
    name: str, deaths: Deaths, project: Path, db: str
) -> None:
    """B01, B04, B11, B13, B60: no tool runs again, a pending question survives, the dead turn ends aborted."""
    kind, found = KINDS[name], []
    for session, was_killed in deaths(name):
        if was_killed:
            found.append(asyncio.run(next_process(project, db, session)))
        else:
            assert "".join(sorted(agents.marks(project, session))) == kind.marks
    # Results that come together share a commit, so the last one has not the same number each time.
    assert set(found) <= {"aborted", kind.ends}
    assert found[0] == ("aborted" if len(found) > 1 else kind.ends)
