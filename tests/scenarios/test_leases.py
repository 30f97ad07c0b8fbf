"""Time passes while a turn runs: leases are renewed, and only then is a session somebody's (T27, T28, C35)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from agentflow import ModelRequest, StoreError, TurnAlreadyActive
from agentflow.clock import SECOND, instant
from agentflow.live import owner
from agentflow.testing import Kit
from tests.scenarios.support import Gate, call, rows

ASKS = {"tool_calls": [call("ask_user", questions=[{"header": "Size", "question": "Which size?"}])]}


def say(text: str, **fields: Any) -> dict[str, Any]:
    return {"type": "client.message", "agent_id": "test", "message": {"role": "user", "content": text}, **fields}


def let(kit: Kit, reached: Callable[[], bool]) -> None:
    """Let things run until it is so."""

    async def until() -> None:
        while not reached():  # noqa: ASYNC110  # a row that the heartbeat writes has no event
            await asyncio.sleep(0.01)

    kit.run(until())


def lease(db: str) -> int:
    """Seconds from now."""
    ((until,),) = rows(db, "SELECT lease_until FROM session")
    return round((until - instant()) / SECOND)


def elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on whoever asks does so on another machine."""
    monkeypatch.setattr(owner, "_machine", lambda: ("another", "boot", "pid:[1]"))


def test_a_long_turn_keeps_its_session_by_renewing_its_lease(
    agentflow: Kit, agentflow_db: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over several renewals; a database that is away once does not end them."""
    gate = Gate({"text": "at last"})
    agentflow.agent(replies=gate)
    turn = agentflow.submit(say("go"))
    assert lease(agentflow_db) == 30
    for _ in range(4):
        agentflow.advance(11)
        assert lease(agentflow_db) == 19
        let(agentflow, lambda: lease(agentflow_db) == 30)
    failing = iter([StoreError("away")])
    stops = agentflow.runtime._store.stops

    async def away(keys: Any) -> Any:
        for error in failing:
            raise error
        return await stops(keys)

    monkeypatch.setattr(agentflow.runtime._store, "stops", away)
    agentflow.advance(11)
    let(agentflow, lambda: lease(agentflow_db) == 30)
    agentflow.advance(-7200)  # the clock was put back
    let(agentflow, lambda: lease(agentflow_db) == 30)
    elsewhere(monkeypatch)
    with pytest.raises(TurnAlreadyActive) as caught:
        agentflow.run(agentflow.another_runtime().submit("s-1", say("now")))
    assert caught.value.detail["retry_after"] == 30
    monkeypatch.undo()
    gate.open()
    assert agentflow.result(turn.turn_id).answer == "at last"


def test_nothing_is_renewed_before_its_time(agentflow: Kit, agentflow_db: str, monkeypatch: pytest.MonkeyPatch) -> None:
    agentflow.agent(replies=Gate())
    agentflow.submit(say("go"))
    agentflow.advance(9)
    beats: list[Any] = []
    stops = agentflow.runtime._store.stops

    async def counted(keys: Any) -> Any:
        beats.append(keys)
        return await stops(keys)

    monkeypatch.setattr(agentflow.runtime._store, "stops", counted)
    let(agentflow, lambda: len(beats) > 1)
    assert lease(agentflow_db) == 21
    agentflow.kill()


@pytest.mark.parametrize(("after", "taken"), [(29, False), (30, True)])
def test_a_process_that_stands_still_is_dead_to_others_when_its_lease_is_over(
    agentflow: Kit, monkeypatch: pytest.MonkeyPatch, after: int, taken: bool
) -> None:
    """T27, T28: not a second before."""
    gate = Gate({"text": "too late"})

    async def reply(request: ModelRequest) -> dict[str, Any]:
        return {"text": "next"} if request.messages[-1]["content"] == "now" else await gate(request)

    agentflow.agent(replies=reply)
    agentflow.submit(say("go", turn_id="t-1"))
    other = agentflow.another_runtime()
    elsewhere(monkeypatch)
    agentflow.advance(after)
    if not taken:
        with pytest.raises(TurnAlreadyActive) as caught:
            agentflow.run(other.submit("s-1", say("now")))
        assert caught.value.detail["retry_after"] == 30 - after
        return
    agentflow.run(other.submit("s-1", say("now", turn_id="t-2")))
    assert agentflow.run(other.result("s-1", "t-2")).answer == "next"


def test_the_first_of_two_owners_of_a_resumed_turn_writes_nothing_when_it_wakes(
    agentflow: Kit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C35: its answer comes late; what the second one did stands, and every event is told once."""
    gate = Gate({"text": "too late"})

    async def reply(request: ModelRequest) -> dict[str, Any]:
        last = request.messages[-1]["content"]
        if last == "go":
            return ASKS
        return {"text": "in time"} if last == "now" else await gate(request)

    agentflow.agent(replies=reply)
    agentflow.deliver(say("go", turn_id="t-1"))
    agentflow.submit(say("L", turn_id="mine"))
    agentflow.until("llm.call.requested", after_seq=len(agentflow.events()) - 1)
    other = agentflow.another_runtime()
    elsewhere(monkeypatch)
    agentflow.advance(31)
    agentflow.run(other.submit("s-1", say("now", turn_id="t-2")))
    assert agentflow.run(other.result("s-1", "t-2")).answer == "in time"
    before = agentflow.events()
    gate.open()
    with pytest.raises(Exception, match="lost its session"):
        agentflow.result("t-1")
    assert agentflow.events() == before
    assert [event.seq for event in before] == list(range(1, len(before) + 1))
    assert agentflow.run(other.result("s-1", "mine")).state == "aborted"
