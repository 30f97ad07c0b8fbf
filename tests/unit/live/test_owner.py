"""T27: who is alive, by host, process, start time and lease; each condition on its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest
from freezegun import freeze_time

from agentflow.clock import SECOND, instant
from agentflow.live import owner
from agentflow.live.owner import LEASE, RENEW, Owner, is_alive


@pytest.fixture(autouse=True)
def frozen() -> Iterator[None]:
    with freeze_time("2030-01-01T09:00:00Z"):
        yield


@pytest.fixture
def mine() -> Iterator[Owner]:
    mine = Owner()
    yield mine
    mine.close()


PARENT = os.getppid()


def told(mine: Owner, *, host: str | None = None, pid: int | None = None, started: str | None = None) -> str:
    """The owner's text with parts of it changed."""
    parts = mine.text.split("|")
    parts[0] = parts[0] if host is None else host
    parts[3] = parts[3] if pid is None else str(pid)
    parts[4] = parts[4] if started is None else started
    return "|".join(parts)


def start_of(pid: int) -> str:
    started = owner._start_time(pid)
    assert started is not None
    return started


def test_the_figures_are_those_of_the_rule() -> None:
    assert (LEASE, RENEW) == (30 * SECOND, 10 * SECOND)


@pytest.mark.parametrize("left", [1, 0, -100], ids=["in time", "at its end", "long over"])
def test_a_turn_of_this_process_lives_as_long_as_its_runtime(mine: Owner, left: int) -> None:
    """Its own lease says nothing here: a process that sleeps and wakes is still itself."""
    lease = instant() + left
    assert is_alive(mine.text, lease, "t-1")
    mine.lost("t-1")
    assert not is_alive(mine.text, lease, "t-1")
    assert is_alive(mine.text, lease, "t-2")
    mine.close()
    assert not is_alive(mine.text, lease, "t-2")


@pytest.mark.parametrize(("left", "alive"), [(1, True), (0, False), (-1, False)])
def test_a_process_elsewhere_lives_as_long_as_its_lease(mine: Owner, left: int, alive: bool) -> None:
    assert is_alive(told(mine, host="elsewhere"), instant() + left, "t-1") is alive


@pytest.mark.parametrize(("left", "alive"), [(1, True), (0, False), (-1, False)])
def test_a_process_beside_this_one_lives_as_long_as_its_lease_too(mine: Owner, left: int, alive: bool) -> None:
    """SIGSTOP: it is there and does nothing."""
    beside = told(mine, pid=PARENT, started=start_of(PARENT))
    assert is_alive(beside, instant() + left, "t-1") is alive


def test_a_process_that_is_gone_is_dead_at_once(mine: Owner) -> None:
    assert not is_alive(told(mine, pid=2**22 + 1, started="1"), instant() + LEASE, "t-1")


def test_a_process_with_the_same_number_and_another_start_is_another_one(mine: Owner) -> None:
    """The number was given out again: to a process beside this one, or to this one."""
    for pid in (PARENT, os.getpid()):
        other = str(int(start_of(pid)) + 1)
        assert not is_alive(told(mine, pid=pid, started=other), instant() + LEASE, "t-1")


@pytest.mark.parametrize("part", [0, 1, 2], ids=["host", "boot", "namespace"])
def test_each_part_of_a_machine_tells_it_from_another(mine: Owner, part: int) -> None:
    """The same number on another host, from before the last boot, or in another container: only its lease tells."""
    parts = mine.text.split("|")
    assert parts[part]
    parts[part] = "another"
    assert is_alive("|".join(parts), instant() + 1, "t-1")
    assert not is_alive("|".join(parts), instant(), "t-1")


def test_a_process_that_has_ended_is_dead_before_anybody_waits_for_it(mine: Owner) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        beside = told(mine, pid=process.pid, started=start_of(process.pid))
        assert is_alive(beside, instant() + LEASE, "t-1")
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # a zombie
        assert not is_alive(beside, instant() + LEASE, "t-1")


def test_where_no_start_is_told_the_number_alone_answers(mine: Owner) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        beside = told(mine, pid=process.pid, started="")
        assert is_alive(beside, instant() + LEASE, "t-1")
        process.kill()
        process.wait()
        assert not is_alive(beside, instant() + LEASE, "t-1")
