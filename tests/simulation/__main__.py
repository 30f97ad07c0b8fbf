"""The command line: one seed, a search, or the proof that breaks are found. Exit code 1 when something is violated."""

from __future__ import annotations

import argparse
import logging
import os
import sys
import time
from collections.abc import Sequence


def main() -> int:
    given = _arguments()
    if os.environ.get("PYTHONHASHSEED") != "0":  # the order of a set is part of a life
        arguments = [sys.executable, "-m", "tests.simulation", *sys.argv[1:]]
        os.execve(sys.executable, arguments, {**os.environ, "PYTHONHASHSEED": "0"})
    if given.broken is not None:
        from tests.simulation import breaks

        breaks.install(given.broken)
    if not given.logs:
        logging.disable(logging.CRITICAL)
    if given.breaks:
        from tests.simulation import breaks

        return 1 if breaks.prove(given.only, given.steps) else 0
    if given.search:
        return _search(given)
    return _replay(given)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("seed", nargs="?", type=int)
    parser.add_argument("--search", action="store_true", help="live many seeds")
    parser.add_argument("--seeds", default="1..100", help="A..B, both included, or A,B,C")
    parser.add_argument("--steps", type=int, default=1500, help="of one life")
    parser.add_argument("--most", type=int, help="stop after so many steps in all")
    parser.add_argument("--secs", type=float, help="stop after so many seconds")
    parser.add_argument("--first", action="store_true", help="stop at the first violation")
    parser.add_argument("--breaks", action="store_true", help="look for each deliberate break")
    parser.add_argument("--only", action="append", default=[], help="a break to look for, by name")
    parser.add_argument("--break", dest="broken", help="break the engine in this way first")
    parser.add_argument("--no-shrink", dest="shrink", action="store_false", help="show the life as it was")
    parser.add_argument("--logs", action="store_true", help="show what the engine logs")
    given = parser.parse_args()
    if given.seed is None and not given.search and not given.breaks:
        parser.error("give a seed, --search or --breaks")
    return given


def _search(given: argparse.Namespace) -> int:
    from tests.simulation.search import search

    seeds, begun = _seeds(given.seeds), time.monotonic()
    found = search(seeds, given.steps, _say, secs=given.secs, most=given.most, first=given.first)
    seconds = time.monotonic() - begun
    _say(
        f"{found.steps} steps in {found.lives} lives from seed {seeds[0]}, {seconds:.0f} s "
        f"({found.steps / seconds:.0f} a second): {len(found.violations)} violations"
    )
    _say(", ".join(f"{name} {count}" for name, count in sorted(found.counts.items())))
    return 1 if found.violations else 0


def _seeds(text: str) -> Sequence[int]:
    """`A..B`, or numbers with commas between them."""
    first, dots, last = text.partition("..")
    return range(int(first), int(last) + 1) if dots else [int(each) for each in text.split(",")]


def _replay(given: argparse.Namespace) -> int:
    from tests.simulation.search import shrunk
    from tests.simulation.world import World

    world = World(given.seed, given.steps, keep_history=True)
    violation = world.run()
    if violation is not None and given.shrink:
        _say(f"seed {given.seed} violates at step {world.step_number} of {len(world.begun)} operations; shrinking")
        world, tries = shrunk(given.seed, given.steps, violation.name)
        _say(f"shrunk to {len(world.begun)} operations in {tries} tries")
    for line in world.history or ():
        _say(line)
    _say(f"agents {', '.join(world.leaders)}; hosts {', '.join(world.hosts)}; digest {world.digest:08x}")
    _say("nothing is violated" if world.violation is None else f"violated: {world.violation}")
    return 0 if world.violation is None else 1


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
