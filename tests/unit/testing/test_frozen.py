"""One clock: whatever tells the time in a kit's test tells the frozen one, and moves with `advance` (T38)."""

from __future__ import annotations

import concurrent.futures
import email.utils
import json
import logging
import multiprocessing.pool
import queue
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from time import ctime, monotonic, strftime
from time import time as imported_time
from typing import Any

import freezegun.api
import pytest
from freezegun import freeze_time

from agentflow.testing import Kit

HOUR = 3600.0
NINE = 1893488400.0  # 2030-01-01T09:00:00Z, where the kit's clock stands
ERA = 12219292800.0  # seconds from the calendar's beginning of uuid1 to 1970

# What tells an instant, each as seconds since 1970.
INSTANTS: dict[str, Callable[[], float]] = {
    "time.time": lambda: time.time(),
    "time.time_ns": lambda: time.time_ns() / 1e9,
    "time.gmtime": lambda: datetime(*time.gmtime()[:6], tzinfo=UTC).timestamp(),
    "time.localtime": lambda: time.mktime(time.localtime()),
    "time.strftime": lambda: _parsed(time.strftime("%a %b %d %H:%M:%S %Y")),
    "time.ctime": lambda: _parsed(time.ctime()),
    "time.asctime": lambda: _parsed(time.asctime()),
    "time.clock_gettime": lambda: time.clock_gettime(time.CLOCK_REALTIME),
    "time.clock_gettime_ns": lambda: time.clock_gettime_ns(time.CLOCK_REALTIME) / 1e9,
    "datetime.now(UTC)": lambda: datetime.now(UTC).timestamp(),
    "datetime.now": lambda: datetime.now().timestamp(),  # noqa: DTZ005
    "datetime.today": lambda: datetime.today().timestamp(),  # noqa: DTZ002
    "datetime.utcnow": lambda: datetime.utcnow().replace(tzinfo=UTC).timestamp(),  # noqa: DTZ003
    "uuid.uuid1": lambda: uuid.uuid1().time / 1e7 - ERA,
    "email.utils.localtime": lambda: email.utils.localtime().timestamp(),
    "email.utils.formatdate": lambda: email.utils.parsedate_to_datetime(email.utils.formatdate()).timestamp(),
    "logging": lambda: logging.makeLogRecord({}).created,
    "from time import time": lambda: imported_time(),
    "from time import strftime": lambda: _parsed(strftime("%a %b %d %H:%M:%S %Y")),
    "from time import ctime": lambda: _parsed(ctime()),
}
# What only measures: its difference is what counts.
TIMERS: dict[str, Callable[[], float]] = {
    "time.monotonic": lambda: time.monotonic(),
    "time.monotonic_ns": lambda: time.monotonic_ns() / 1e9,
    "time.perf_counter": lambda: time.perf_counter(),
    "time.perf_counter_ns": lambda: time.perf_counter_ns() / 1e9,
    "time.clock_gettime": lambda: time.clock_gettime(time.CLOCK_MONOTONIC),
    "from time import monotonic": lambda: monotonic(),
}
CLOCKS = {**INSTANTS, **{f"timer {name}": clock for name, clock in TIMERS.items()}}


def _parsed(text: str) -> float:
    return time.mktime(time.strptime(text, "%a %b %d %H:%M:%S %Y"))


def deep(clock: Callable[[], float], depth: int = 0) -> float:
    """What the clock tells, some frames further down."""
    return deep(clock, depth - 1) if depth else clock()


def in_thread(clock: Callable[[], float]) -> float:
    told: list[float] = []
    thread = threading.Thread(target=lambda: told.append(clock()))
    thread.start()
    thread.join()
    return told[0]


def in_executor(clock: Callable[[], float]) -> float:
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        return pool.submit(clock).result()


def in_pool(clock: Callable[[], float]) -> float:
    with multiprocessing.pool.ThreadPool(1) as pool:
        return pool.apply(clock)


def as_thread(clock: Callable[[], float]) -> float:
    """The thread's own function is the clock: nothing stands between it and `threading`."""
    told: list[float] = []

    class Told(threading.Thread):
        def run(self) -> None:
            told.append(clock())

    thread = Told()
    thread.start()
    thread.join()
    return told[0]


PLACES: dict[str, Callable[[Callable[[], float]], float]] = {
    "here": deep,
    "nine frames down": lambda clock: deep(clock, 9),
    "thread": in_thread,
    "thread's own function": as_thread,
    "executor": in_executor,
    "pool": in_pool,
}


@pytest.mark.filterwarnings("ignore:datetime.datetime.utcnow:DeprecationWarning")
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", CLOCKS)
def test_every_clock_stands_still_and_moves_with_advance_wherever_it_is_read(
    agentflow: Kit, name: str, place: str
) -> None:
    """D68, T38"""
    read, clock = PLACES[place], CLOCKS[name]
    before = read(clock)
    if name in INSTANTS:
        assert before == pytest.approx(NINE, abs=1e-3)
    assert read(clock) == pytest.approx(before, abs=1e-3)
    agentflow.advance(HOUR)
    assert read(clock) - before == pytest.approx(HOUR, abs=1e-3)


def test_dates_are_the_frozen_ones(agentflow: Kit) -> None:
    assert date.today() == date(2030, 1, 1)  # noqa: DTZ011  # what is tested
    agentflow.advance(24 * HOUR)
    assert date.today() == date(2030, 1, 2)  # noqa: DTZ011


def test_what_a_sync_tool_reads_in_its_thread_is_the_clock_of_the_test(agentflow: Kit) -> None:
    """D68"""

    def clocks() -> list[Any]:
        """Tell the time."""
        return [time.time(), time.strftime("%Y"), datetime.now().year, deep(time.time, 9)]  # noqa: DTZ005

    calls = [{"tool_calls": [{"name": "clocks"}]}, {"text": "ok"}]
    agentflow.agent(tools=[clocks], replies=calls * 2)
    agentflow.send("hi")
    agentflow.advance(HOUR)
    agentflow.send("hi")
    told = [event.data["result"] for event in agentflow.events("tool.call.completed")]
    assert told == ['[1893488400.0,"2030",2030,1893488400.0]', '[1893492000.0,"2030",2030,1893492000.0]']


@freeze_time("2031-05-05")
def test_a_freeze_of_the_authors_own_goes_before_the_kits(agentflow: Kit) -> None:
    """T38: a plain one does too, the loop's clock is real already."""
    agentflow.agent(replies=[{"text": "ok"}])
    assert agentflow.send("hi").answer == "ok"
    assert agentflow.session()["created_at"].startswith("2031-05-05")


def test_after_a_freeze_of_the_authors_own_the_kits_clock_goes_on(agentflow: Kit) -> None:
    agentflow.agent(replies=[{"text": "ok", "repeat": True}])
    with freeze_time("2031-05-05"):
        agentflow.send("hi")
    agentflow.advance(5)
    assert time.time() == NINE + 5
    assert agentflow.send("hi").answer == "ok"


# -- waiting stays real ------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("agentflow")
def test_what_waits_for_others_gives_up_by_the_machines_clock() -> None:
    """T38"""
    with pytest.raises(queue.Empty):
        queue.Queue[int]().get(timeout=0.001)
    assert not threading.Event().wait(0.001)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        go_on = threading.Event()
        with pytest.raises(concurrent.futures.TimeoutError):
            next(concurrent.futures.as_completed([pool.submit(go_on.wait)], timeout=0.001))
        go_on.set()


@pytest.mark.usefixtures("agentflow")
def test_a_child_process_that_hangs_is_given_up() -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        subprocess.run([sys.executable, "-c", "import time; time.sleep(60)"], timeout=0.05, check=False)


# -- types over dates ------------------------------------------------------------------------------------------------

FLOWS = '''
from dataclasses import dataclass, field
from datetime import date, datetime

from pydantic import AwareDatetime, BaseModel, Field, FutureDatetime, PastDate
from typing_extensions import TypedDict


class Guest(BaseModel):
    born: PastDate
    seen: datetime = Field(default_factory=datetime.now)


@dataclass
class Stay:
    start: date
    made: datetime = field(default_factory=datetime.now)


class Trip(TypedDict):
    day: date
    at: AwareDatetime


def book(guest: Guest, stay: Stay, trip: Trip, day: date | None = None, due: FutureDatetime | None = None) -> list:
    """Book."""
    return [guest.born, guest.seen, stay.start, stay.made, trip["day"], trip["at"], day, due]
'''
BOOKING: dict[str, Any] = {
    "guest": {"born": "2029-12-31"},
    "stay": {"start": "2030-02-01"},
    "trip": {"day": "2030-02-02", "at": "2030-02-02T10:00:00Z"},
    "due": "2030-01-01T09:00:01",
}


def booked(agentflow: Kit, folder: Path, booking: dict[str, Any]) -> Any:
    """What an agent whose flow file works with dates answers to this booking."""
    (folder / "agents" / "clerk").mkdir(parents=True)
    (folder / "workflows").mkdir()
    (folder / "workflows" / "booking.py").write_text(FLOWS)
    (folder / "agents" / "clerk" / "agent.yaml").write_text(
        "version: 1\nname: clerk\nmodel: openai/gpt-4o\nprompt: Book.\ntools: [book]\n"
    )
    agentflow.load(folder, "clerk")
    agentflow.script([{"tool_calls": [{"name": "book", "arguments": booking}]}, {"text": "ok"}])
    agentflow.send("Book.")
    (result,) = [message["content"] for message in agentflow.path() if message["role"] == "tool"]
    return result


def test_a_flow_file_with_types_over_dates_loads_and_runs(agentflow: Kit, tmp_path: Path) -> None:
    """D67"""
    assert json.loads(booked(agentflow, tmp_path / "mine", BOOKING)) == [
        "2029-12-31",
        "2030-01-01T09:00:00",
        "2030-02-01",
        "2030-01-01T09:00:00",
        "2030-02-02",
        "2030-02-02T10:00:00+00:00",
        None,
        "2030-01-01T09:00:01",
    ]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"guest": {"born": "2030-01-01"}}, "Date should be in the past"),
        ({"due": "2030-01-01T09:00:00"}, "Input should be in the future"),
    ],
)
def test_what_is_past_is_told_by_the_frozen_clock(
    agentflow: Kit, tmp_path: Path, change: dict[str, Any], reason: str
) -> None:
    """D67"""
    assert reason in booked(agentflow, tmp_path / "mine", BOOKING | change)


def test_without_the_kit_the_clock_and_the_types_are_the_real_ones() -> None:
    assert time.time() < NINE
    assert time.ctime is ctime
    assert not hasattr(freezegun.api.FakeDate, "__get_pydantic_core_schema__")
    assert freezegun.api.call_stack_inspection_limit == 5
