"""What a flow on a thread waits for while the turn's loop does it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from agentflow.tools.flows.context import CallCancelled

T = TypeVar("T")

_LOOK_SECS = 0.1  # how often the flow looks whether anybody still waits for it


def wait_from_thread(work: Coroutine[Any, Any, T], loop: asyncio.AbstractEventLoop, cancelled: Callable[[], bool]) -> T:
    """What the work comes to on the loop. Raises what it raises, and `CallCancelled` once the call was given up."""
    waiting = asyncio.run_coroutine_threadsafe(work, loop)
    while True:
        try:
            return waiting.result(_LOOK_SECS)
        except TimeoutError:
            if waiting.done():
                return waiting.result()
            if cancelled():
                waiting.cancel()
                raise CallCancelled("the call was stopped") from None
