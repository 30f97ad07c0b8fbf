"""Time that passes, and what it brings about: T21, X11, R12."""

from __future__ import annotations

from typing import Any

import pytest

from agentflow import SessionNotFound
from agentflow.testing import Kit
from tests.scenarios.support import call

ASK: dict[str, Any] = {"tool_calls": [call("ask_user", questions=[{"header": "Which", "question": "Which one?"}])]}
HOUR, DAY = 3600, 86_400


def kinds(kit: Kit) -> list[tuple[str, str]]:
    return [(timer.kind, timer.session_id) for timer in kit.run(kit.runtime.records.timers())]


def test_a_turn_behind_a_question_starts_when_its_time_is_over(agentflow: Kit) -> None:
    """C28, T21: nobody has to ask for it, as where a process serves."""
    agentflow.agent(settings={"ask_user_expiry_secs": HOUR}, replies=[ASK, {"text": "waited"}])
    agentflow.send("one please")
    agentflow.submit({"type": "client.message", "message": {"role": "user", "content": "behind"}, "queue": True})
    agentflow.advance(HOUR - 1)
    assert agentflow.status()["queued"] == 1
    agentflow.advance(1)
    assert agentflow.path()[-1]["content"] == "waited"
    assert [event.at for event in agentflow.events("done")][-1] == agentflow.events("turn.started")[-1].at


def test_an_unused_session_is_deleted_at_its_moment(agentflow: Kit) -> None:
    """R12"""
    agentflow.agent(settings={"retention_days": 2}, replies=[{"text": "hello", "repeat": True}])
    agentflow.send("hi")
    agentflow.advance(DAY)
    agentflow.send("hi", "s-2")
    agentflow.advance(DAY + 1)
    with pytest.raises(SessionNotFound):
        agentflow.status()
    assert agentflow.status("s-2")["status"] == "idle"


def test_time_goes_to_the_next_thing_that_falls_due(agentflow: Kit) -> None:
    strategy = [{"use": "reset", "idle_secs": HOUR}]
    agentflow.agent(
        settings={"ask_user_expiry_secs": 60, "retention_days": 1}, context={"strategy": strategy},
        replies=[ASK, {"text": "fresh", "repeat": True}],
    )  # fmt: skip
    agentflow.send("one please")
    assert kinds(agentflow) == [("question", "s-1"), ("retention", "s-1")]
    assert agentflow.advance_to_next_timer().kind == "question"
    agentflow.send("another")
    assert kinds(agentflow) == [("idle", "s-1"), ("retention", "s-1")]
    assert agentflow.advance_to_next_timer().kind == "idle"
    agentflow.send("and another")
    assert [message["content"] for message in agentflow.requests[-1].messages[1:]] == ["and another"]
    assert [agentflow.advance_to_next_timer().kind for _ in range(2)] == ["idle", "retention"]
    with pytest.raises(AssertionError, match="Nothing falls due"):
        agentflow.advance_to_next_timer()


def test_the_lease_of_a_turn_that_runs_is_a_timer_too(agentflow: Kit) -> None:
    agentflow.agent(replies=[{"text": "hello"}])
    agentflow.hold()
    agentflow.submit({"type": "client.message", "message": {"role": "user", "content": "hi"}})
    assert kinds(agentflow) == [("lease", "s-1")]
    agentflow.release()
    agentflow.until_idle()
    assert kinds(agentflow) == []


def test_a_tick_moves_the_clock_and_nothing_else(agentflow: Kit) -> None:
    agentflow.agent(settings={"retention_days": 1}, replies=[{"text": "hello"}])
    agentflow.send("hi")
    agentflow.tick(2 * DAY)
    assert agentflow.status()["status"] == "idle"
