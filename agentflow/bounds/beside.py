"""Work on a value from outside: a heavy one is worked on beside the event loop, which it then holds for nobody (Z3)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

from agentflow.bounds.weight import is_light

T = TypeVar("T")


async def beside(work: Callable[[Any], T], value: Any) -> T:
    """What the work makes of the value, or raises: here and now for a light one, on a thread for a heavy one.

    Contract: the work is made of small steps, for a thread holds the interpreter as long as one of them takes.
    """
    return work(value) if is_light(value) else await asyncio.to_thread(work, value)
