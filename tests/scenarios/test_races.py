"""Many at once, and writers that come back too late: one wins, nothing of the others is written (C18, C29, C35)."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from typing import Any

import pytest

from agentflow import AgentflowError, Event, Runtime, StaleOwner, TurnAlreadyActive
from agentflow.store.sql.database import open_database
from agentflow.testing import Kit
from tests.scenarios.invariants import check_log, check_session, check_wire
from tests.scenarios.support import Gate, call

REFUSED = ("question_already_answered", "turn_already_active")
ASKS = {"tool_calls": [call("ask_user", questions=[{"header": "Place", "question": "Which one?"}])]}


def message(text: str, **fields: Any) -> dict[str, Any]:
    return {"type": "client.message", "agent_id": "test", "message": {"role": "user", "content": text}, **fields}


async def tried(runtime: Runtime, given: dict[str, Any]) -> str:
    try:
        return (await runtime.submit("s-1", given)).turn_id
    except AgentflowError as refused:
        return refused.code


def test_of_a_hundred_starts_at_once_one_is_made(agentflow: Kit, agentflow_db: str) -> None:
    """B56: the stored row decides, not the machine in memory."""
    agentflow.agent(replies=[{"text": "once"}])

    async def race() -> list[str]:
        return await asyncio.gather(*[tried(agentflow.runtime, message(f"{n}", turn_id=f"t-{n}")) for n in range(100)])

    outcomes = Counter(agentflow.run(race()))
    assert outcomes.pop("turn_already_active") == 99
    (turn_id,) = outcomes
    assert agentflow.result(turn_id).answer == "once"
    assert len(agentflow.path()) == 2
    agentflow.run(check_session(agentflow.runtime, agentflow_db, "s-1"))


@pytest.mark.parametrize("runtimes", [1, 2], ids=["one process", "two processes"])
def test_of_many_answers_one_is_accepted_each_time(agentflow: Kit, agentflow_db: str, runtimes: int) -> None:
    """B53, C29: twenty rounds of five answers, by name and as messages."""
    rounds = 20
    agentflow.agent(replies=[ASKS] * rounds + [{"text": "done"}])
    opened = [agentflow.runtime, agentflow.another_runtime()][:runtimes]
    agentflow.send("ask me")

    async def race(call_id: str) -> tuple[list[str], str]:
        answers = [{"type": "ask_user.answer", "tool_call_id": call_id, "answers": f"{n}"} for n in range(5)]
        told = await asyncio.gather(*[tried(opened[n % runtimes], each) for n, each in enumerate(answers)])
        turn_id = next(each for each in told if each not in REFUSED)
        for runtime in opened:
            result = await runtime.result("s-1", turn_id)
        return told, result.state

    for number in range(rounds):
        told, state = agentflow.run(race(agentflow.status()["tool_call_id"]))
        assert sum(each in REFUSED for each in told) == 4
        assert state == ("done" if number == rounds - 1 else "paused_ask_user")
    check_wire(agentflow.requests[-1].messages)
    agentflow.run(check_session(agentflow.runtime, agentflow_db, "s-1"))


def test_a_stop_that_races_with_the_end_leaves_one_end(agentflow: Kit, agentflow_db: str) -> None:
    """B15 (c): thirty turns, each stopped at a moment of its own; the one after it is never hit."""
    agentflow.agent(replies=lambda request: {"text": "fine"})
    moments = random.Random(7)

    async def race(number: int) -> str:
        receipt = await agentflow.runtime.submit("s-1", message(f"{number}"))
        for _ in range(moments.randrange(12)):
            await asyncio.sleep(0)
        await agentflow.runtime.stop("s-1", receipt.turn_id)
        following = await agentflow.runtime.run("s-1", "test", "after")
        assert following.state == "done"
        return (await agentflow.runtime.result("s-1", receipt.turn_id)).state

    states = {agentflow.run(race(number)) for number in range(30)}
    assert states <= {"done", "aborted"}
    agentflow.run(check_session(agentflow.runtime, agentflow_db, "s-1"))


def test_a_writer_that_lost_its_lease_to_another_host_writes_nothing_more(agentflow: Kit, agentflow_db: str) -> None:
    """T27, T28, C35: alive until its lease is over, then repaired; the zombie is refused and ends with an error."""
    gate = Gate({"text": "too late"})
    agentflow.agent(replies=[gate, {"text": "next"}])
    receipt = agentflow.submit(message("first"))
    _move_to_another_host(agentflow_db)
    with pytest.raises(TurnAlreadyActive) as refused:
        agentflow.send("second")
    assert 0 < refused.value.detail["retry_after"] <= 30
    agentflow.advance(31)
    assert agentflow.status()["status"] == "aborted"
    other = agentflow.another_runtime()

    async def taken_over() -> tuple[str | None, BaseException | None]:
        zombie = agentflow.runtime._turns.get("s-1", receipt.turn_id)
        assert zombie is not None
        second = await other.submit("s-1", message("second"))
        answer = (await other.result("s-1", second.turn_id)).answer
        gate.open()
        (error,) = await asyncio.gather(zombie.task, return_exceptions=True)
        return answer, error

    answer, error = agentflow.run(taken_over())
    assert answer == "next"
    assert getattr(error, "code", None) == "stale_owner"
    assert "too late" not in str(agentflow.tree())
    assert agentflow.result(receipt.turn_id).state == "aborted"
    agentflow.run(check_session(agentflow.runtime, agentflow_db, "s-1"))


def _move_to_another_host(db: str) -> None:
    """Let the claim look like one of a process on another machine."""
    database = open_database(db)
    connection = database.connect()
    try:
        connection.execute("UPDATE session SET owner = 'elsewhere|boot|pid:[1]|7|1|token'")
    finally:
        database.release(connection)


def test_a_reader_that_loses_its_connection_after_each_event_misses_nothing(agentflow: Kit) -> None:
    """B61: reconnected with the last number it saw, twice in a row; no gap, no repeat, and an end."""
    agentflow.agent(replies=lambda request: {"text": "fine"})
    results = [agentflow.send(f"{number}") for number in range(3)]
    agentflow.send("not of this turn")

    async def one_at_a_time(turn_id: str) -> list[Event]:
        seen: list[Event] = []
        while not seen or seen[-1].type != "done":
            after = seen[-1].seq or 0 if seen else first
            for _ in range(2):
                reader = agentflow.runtime.events("s-1", after, turn_id)
                event = await anext(aiter(reader))
                await reader.aclose()  # type: ignore[attr-defined]
            seen.append(event)
        return seen

    first = 0
    told = []
    for result in results:
        told += agentflow.run(one_at_a_time(result.turn_id))
        first = told[-1].seq or 0
    check_log(told, is_running=False)


def test_a_turn_that_lost_its_session_may_end_after_the_one_that_followed_it(agentflow: Kit) -> None:
    """C35: found by the simulation: a process that stood still is claimed from, claims again, and is quicker then."""

    async def lost() -> Any:
        raise StaleOwner("another process has the session")

    async def ended() -> None:
        task = asyncio.get_running_loop().create_task(lost())
        await asyncio.wait([task])
        agentflow.runtime._turns._ended("s-1", "t-1", task)

    agentflow.agent(replies=[{"text": "ok"}])
    agentflow.run(ended())
    assert agentflow.send("hi").answer == "ok"
