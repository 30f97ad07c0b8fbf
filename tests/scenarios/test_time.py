"""Time: one clock, read in UTC, never used for order (T38)."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from agentflow import clock
from agentflow.testing import Kit
from tests.scenarios.support import call


@pytest.fixture(params=["America/New_York", "Asia/Kolkata", "Europe/Berlin"])
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield request.param
    monkeypatch.undo()
    time.tzset()


def test_advancing_the_clock_is_all_that_moves_time(agentflow: Kit) -> None:
    agentflow.agent(replies=lambda request: {"text": "ok"})
    agentflow.send("one")
    agentflow.advance(90)
    agentflow.send("two")
    opened = [step["opened_at"] for step in agentflow.session()["steps"]]
    assert opened == ["2030-01-01T09:00:00.000000+00:00", "2030-01-01T09:01:30.000000+00:00"]
    assert agentflow.session()["created_at"] == opened[0]
    assert agentflow.session()["updated_at"] == opened[1]


def test_a_turn_under_a_clock_that_stands_still_or_steps_back_keeps_its_order(agentflow: Kit) -> None:
    """B51: five calls, the clock steps back an hour in the middle: order comes from sequence numbers."""

    def step_back(number: int) -> str:
        """Set the clock back."""
        agentflow.advance(-3600 if number == 2 else 0)
        return f"result {number}"

    asks = [{"tool_calls": [call("step_back", number=number)]} for number in range(5)]
    agentflow.agent(tools=[step_back], replies=[*asks, {"text": "done"}, {"text": "next"}])
    assert agentflow.send("Go.").answer == "done"
    assert agentflow.send("Again.").answer == "next"
    texts = [message["content"] for message in agentflow.path() if message["role"] == "tool"]
    assert texts == [f"result {number}" for number in range(5)]
    assert [event.seq for event in agentflow.events()] == list(range(1, len(agentflow.events()) + 1))
    assert [step["order"] for step in agentflow.session()["steps"]] == [1, 2]


def test_a_running_turn_outlives_a_clock_that_steps_over_its_lease(agentflow: Kit) -> None:
    """T28: a live turn is never repaired by anyone else; its process still exists."""
    from agentflow import TurnAlreadyActive
    from tests.scenarios.support import Gate

    gate = Gate({"text": "ok"})
    agentflow.agent(replies=gate)
    message = {"type": "client.message", "message": {"role": "user", "content": "hi"}}
    receipt = agentflow.submit(message)
    assert agentflow.status()["status"] == "running"  # read, so that no connection is being made when the clock jumps
    agentflow.advance(24 * 3600)
    with pytest.raises(TurnAlreadyActive):
        agentflow.run(agentflow.another_runtime().submit("s-1", {"agent_id": "test", **message}))
    gate.open()
    assert agentflow.result(receipt.turn_id).state == "done"


@pytest.mark.usefixtures("zone")
def test_times_carry_an_offset_and_equal_the_instant_in_every_zone(agentflow: Kit) -> None:
    """B65, R13: also in the hour that a zone has twice, or not at all."""
    agentflow.agent(replies=lambda request: {"text": "ok"})
    start = clock.now()
    for text in ("2030-03-10T07:30:00", "2030-03-31T01:30:00", "2030-10-27T00:30:00", "2030-10-27T01:30:00"):
        agentflow.advance((clock.to_datetime(_instant(text)) - clock.now()).total_seconds())
        agentflow.send("hi")
        assert agentflow.session()["steps"][-1]["opened_at"] == f"{text}.000000+00:00"
        assert agentflow.events("done")[-1].as_dict()["at"] == f"{text}.000000+00:00"
    assert clock.now() > start


def _instant(text: str) -> int:
    from datetime import UTC, datetime

    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * clock.SECOND


def test_today_in_the_prompt_is_the_day_of_the_frozen_clock(agentflow: Kit) -> None:
    """X4: `today` has day precision, so it breaks the cached prefix once a day at most."""
    agentflow.agent(prompt="Today is {{ today }}.", replies=lambda request: {"text": "ok"})
    for seconds in (0, 3600, 24 * 3600):
        agentflow.advance(seconds)
        agentflow.send("hi")
    assert [request.messages[0]["content"] for request in agentflow.requests] == [
        "Today is 2030-01-01.", "Today is 2030-01-01.", "Today is 2030-01-02.",
    ]  # fmt: skip
