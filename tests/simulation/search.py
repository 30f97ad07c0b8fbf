"""Many seeds, one after the other; a life that fails, made short."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from tests.simulation.ledger import Violation
from tests.simulation.operations import Operation
from tests.simulation.world import World

Say = Callable[[str], None]

STEPS = 1500
_MOST_TRIES = 300
_SHRINK_SECS = 120.0


@dataclass(slots=True)
class Findings:
    """`steps` are the scheduler's choices in all; `violations` by seed."""

    steps: int = 0
    lives: int = 0
    violations: dict[int, Violation] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)


def search(
    seeds: Iterable[int], steps: int, say: Say, *, secs: float | None = None, most: int | None = None,
    first: bool = False,
) -> Findings:  # fmt: skip
    """Live the seeds, at most `secs` seconds or `most` steps long, or to the `first` violation."""
    found, begun = Findings(), time.monotonic()
    for seed in seeds:
        world = World(seed, steps)
        violation = world.run()
        found.lives += 1
        found.steps += world.step_number
        found.counts += world.counted()
        if violation is not None:
            found.violations[seed] = violation
            say(f"seed {seed}, step {world.step_number}: {violation.name}: {violation.detail[:600]}")
        over = secs is not None and time.monotonic() - begun > secs
        if over or (most is not None and found.steps >= most) or (first and found.violations):
            break
    return found


def shrunk(seed: int, steps: int, name: str) -> tuple[World, int]:
    """The life with as few operations as still violate the same rule, and how many were tried."""
    world = World(seed, steps, keep_history=True)
    world.run()
    kept, tries, deadline = world.begun, 0, time.monotonic() + _SHRINK_SECS
    size = max(len(kept) // 2, 1)
    while size and tries < _MOST_TRIES and time.monotonic() < deadline:
        at, smaller = 0, False
        while at < len(kept) and tries < _MOST_TRIES:
            fewer = [*kept[:at], *kept[at + size :]]
            tries += 1
            again = _fails(seed, steps, fewer, name)
            if again is None:
                at += size
            else:
                world, kept, smaller = again, again.begun, True
        if not smaller or size > len(kept):
            size //= 2
    return world, tries


def _fails(seed: int, steps: int, operations: Sequence[Operation], name: str) -> World | None:
    world = World(seed, steps, operations, keep_history=True)
    violation = world.run()
    return world if violation is not None and violation.name == name else None
