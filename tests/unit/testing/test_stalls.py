"""Who holds the event loop, measured whatever the clock says (Z3)."""

from __future__ import annotations

import asyncio
import gc
import importlib
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentflow.testing import Kit, LoopHeld, StallMeter

LIMIT, LONG = 0.02, 0.03  # seconds of processor time


def compute(seconds: float) -> None:
    """Keep this thread's processor busy for so long."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


async def hold() -> None:
    compute(LONG)
    await asyncio.sleep(0)


async def outer() -> None:
    await hold()


def test_a_callback_that_computes_for_too_long_is_told_with_its_coroutines_and_their_lines() -> None:
    """Z3"""
    with pytest.raises(LoopHeld) as told, StallMeter(LIMIT):
        asyncio.run(outer())
    line = hold.__code__.co_firstlineno + 2
    assert f"outer (now at {__file__}:" in str(told.value)
    assert f"hold (now at {__file__}:{line})" in str(told.value)
    assert "limit 0.02 s" in str(told.value)


def test_a_plain_callback_is_told_by_its_name() -> None:
    async def calls() -> None:
        asyncio.get_running_loop().call_soon(compute, LONG)
        await asyncio.sleep(0.001)

    with pytest.raises(LoopHeld, match=r" by compute\. "), StallMeter(LIMIT):
        asyncio.run(calls())


def test_many_short_callbacks_are_no_long_one() -> None:
    async def in_slices() -> None:
        for _ in range(20):
            compute(LIMIT / 8)
            await asyncio.sleep(0)

    with StallMeter(LIMIT) as meter:
        asyncio.run(in_slices())
    assert meter.longest >= LIMIT / 8


def test_what_other_threads_compute_is_not_the_loops() -> None:
    with StallMeter(LIMIT) as meter:
        asyncio.run(asyncio.to_thread(compute, LONG))
    assert meter.stalls == []


def test_every_loop_of_the_process_is_measured() -> None:
    thread = threading.Thread(target=lambda: asyncio.run(hold()))
    with StallMeter(LIMIT) as meter:
        thread.start()
        thread.join()
        assert len(meter.stalls) == 1
        meter.stalls.clear()


def test_loading_a_module_is_not_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "slow_to_load.py").write_text(
        f"import time\n\nend = time.thread_time() + {LONG}\nwhile time.thread_time() < end:\n    pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path)

    async def loads() -> None:
        importlib.import_module("slow_to_load")

    with StallMeter(LIMIT) as meter:
        asyncio.run(loads())
    assert meter.stalls == []


@pytest.fixture
def slow_collection() -> Iterator[None]:
    def collecting(phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            compute(LONG)

    gc.callbacks.append(collecting)
    yield
    gc.callbacks.remove(collecting)


@pytest.mark.usefixtures("slow_collection")
def test_collecting_garbage_is_not_counted() -> None:
    async def collects() -> None:
        gc.collect(0)

    with StallMeter(LIMIT) as meter:
        asyncio.run(collects())
    assert meter.stalls == []


def test_another_error_is_not_hidden_by_a_stall() -> None:
    async def fails() -> None:
        compute(LONG)
        raise ValueError("the test's own")

    with pytest.raises(ValueError, match="own"), StallMeter(LIMIT) as meter:
        asyncio.run(fails())
    assert len(meter.stalls) == 1


def test_nothing_is_left_of_the_meters_when_the_last_one_ends() -> None:
    run, callbacks = asyncio.Handle._run, list(gc.callbacks)
    outer_meter, inner_meter = StallMeter(LIMIT), StallMeter(LIMIT)
    outer_meter.start()
    inner_meter.start()
    outer_meter.stop()
    asyncio.run(hold())
    inner_meter.stop()
    asyncio.run(hold())
    assert (len(outer_meter.stalls), len(inner_meter.stalls)) == (0, 1)
    assert asyncio.Handle._run is run
    assert gc.callbacks == callbacks


def test_the_kits_meter_measures_under_the_frozen_clock(agentflow: Kit) -> None:
    """Z3, T38"""
    agentflow.stalls.limit = LIMIT
    agentflow.run(hold())
    with pytest.raises(LoopHeld, match="hold"):
        agentflow.stalls.check()
    agentflow.stalls.stalls.clear()
