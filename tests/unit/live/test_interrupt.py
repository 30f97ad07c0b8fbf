"""Asking a turn to end: heard in its windows, between them, and once (T23, T26)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from agentflow.live.interrupt import Interrupt, Interrupted


async def interrupted(work: Callable[[], Coroutine[Any, Any, None]]) -> str:
    """Why the work was interrupted."""
    with pytest.raises(Interrupted) as caught:
        await work()
    return caught.value.reason


def test_the_first_reason_counts() -> None:
    async def test() -> None:
        interrupt = Interrupt()
        interrupt.request("timeout")
        interrupt.request("stop")
        with pytest.raises(Interrupted) as caught:
            interrupt.check()
        assert caught.value.reason == "timeout"

    asyncio.run(test())


def test_whoever_waits_in_a_window_is_woken_and_is_not_cancelled_afterwards() -> None:
    async def test() -> None:
        interrupt = Interrupt()

        async def work() -> None:
            with interrupt.window():
                await asyncio.Event().wait()

        async def whole() -> tuple[str, int]:
            reason = await interrupted(work)
            task = asyncio.current_task()
            assert task is not None
            return reason, task.cancelling()

        task = asyncio.create_task(whole())
        await asyncio.sleep(0)
        interrupt.request("stop")
        assert await task == ("stop", 0)

    asyncio.run(test())


def test_a_request_between_two_windows_is_heard_before_the_next_one_opens() -> None:
    async def test() -> None:
        interrupt, done = Interrupt(), []

        async def work() -> None:
            with interrupt.window():
                done.append("begun")

        interrupt.request("closing")
        assert (await interrupted(work), done) == ("closing", [])

    asyncio.run(test())


def test_a_request_that_comes_as_a_window_closes_is_heard_there() -> None:
    async def test() -> None:
        interrupt = Interrupt()

        async def work() -> None:
            with interrupt.window():
                asyncio.get_running_loop().call_soon(interrupt.request, "stop")
                task = asyncio.ensure_future(asyncio.sleep(0, "the reply"))
                while not task.done() or interrupt.reason is None:
                    try:
                        await asyncio.sleep(0)
                    except asyncio.CancelledError:
                        current = asyncio.current_task()
                        assert current is not None
                        current.uncancel()

        assert await interrupted(work) == "stop"

    asyncio.run(test())


def test_somebody_elses_cancellation_is_not_taken_for_a_request() -> None:
    async def test() -> None:
        interrupt = Interrupt()

        async def work() -> None:
            with interrupt.window():
                await asyncio.Event().wait()

        task = asyncio.create_task(work())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(test())
