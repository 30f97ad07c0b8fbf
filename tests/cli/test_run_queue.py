"""C24: a command that leaves turns waiting says so, with the command that runs them."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from agentflow import Event, Runtime
from cli.terminal.status import Status
from tests.cli.conftest import Command

ASK, ANSWER = {"role": "user", "content": "ask"}, {"role": "user", "content": "later"}


@pytest.fixture
def waiting(project: Path) -> Any:
    """A session that asks, with two turns behind the question."""

    async def prepare() -> None:
        async with Runtime.open(project) as runtime:
            first = {"type": "client.message", "agent_id": "asking", "message": ASK | {"id": "m-1"}}
            await runtime.result("s-1", (await runtime.submit("s-1", first)).turn_id)
            for _ in range(2):
                await runtime.submit("s-1", {"type": "client.message", "message": ANSWER, "queue": True})

    asyncio.run(prepare())


RUN = "turns wait; run with: agentflow sessions run-queue s-1"


@pytest.mark.parametrize("command", [["stop", "s-1"], ["sessions", "checkout", "s-1", "m-1"]])
def test_a_command_that_ends_a_pause_says_what_waits(agentflow: Command, waiting: None, command: list[str]) -> None:
    assert f"2 {RUN}" in agentflow(*command).err


def test_an_answer_says_what_waits_behind_its_turn(agentflow: Command, waiting: None) -> None:
    done = agentflow("answer", "s-1", "Pro")
    assert (done.code, done.out) == (0, "You said Plan: Pro.\n")
    assert f"2 {RUN}" in done.err


def test_nothing_is_said_while_a_question_is_open(agentflow: Command, waiting: None) -> None:
    assert "run-queue" not in agentflow("sessions", "show", "s-1").err


def test_run_queue_runs_what_waits_until_one_asks(agentflow: Command, waiting: None) -> None:
    agentflow("stop", "s-1")
    done = agentflow("sessions", "run-queue", "s-1", "--json")
    results = [json.loads(line) for line in done.out.splitlines()]
    assert done.code == 4
    assert [result["state"] for result in results] == ["paused_ask_user"]
    assert "wait" not in done.err


def test_run_queue_of_a_session_without_a_queue_does_nothing(agentflow: Command) -> None:
    agentflow("run", "echo", "-s", "s-2", "Hi")
    done = agentflow("sessions", "run-queue", "s-2")
    assert (done.code, done.out, done.err) == (0, "", "nothing waits\n")
    assert agentflow("sessions", "run-queue", "s-9").code == 3


def test_what_breaks_the_view_of_a_queue_is_told_and_breaks_no_turn(
    agentflow: Command, waiting: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    agentflow("stop", "s-1")

    def fail(status: Status, event: Event) -> None:
        raise RuntimeError("the area is too small")

    monkeypatch.setattr(Status, "event", fail)
    done = agentflow("sessions", "run-queue", "s-1", "--json")
    assert (done.code, len(done.out.splitlines())) == (4, 1)
    assert "could not be shown to its end: the area is too small" in done.err
