"""The command line: break the core in one way after the other, and see whether a test notices."""

from __future__ import annotations

import argparse
import sys
from collections import Counter

from tests.breaks.run import Told, judge_all, unbroken
from tests.breaks.tables import BREAKS


def main() -> int:
    given = _arguments()
    chosen = [entry for entry in BREAKS if not given.only or any(entry.name.startswith(name) for name in given.only)]
    if not chosen:
        sys.exit("there is no such break")
    if not given.unchecked and (failing := unbroken(chosen)) is not None:
        sys.exit(f"a test fails where nothing is broken: {failing}")
    told = judge_all(chosen, given.jobs, _tell)
    counts = Counter(each.verdict for each in told)
    argued = sum(each.verdict == "SURVIVED" and bool(each.entry.unnoticed) for each in told)
    _say(
        f"{len(told)} breaks: {counts['noticed']} noticed ({counts['noticed'] / len(told):.1%}), "
        f"{counts['SURVIVED']} survived ({argued} of them argued), {counts['broken entry']} broken entries"
    )
    return 1 if counts["broken entry"] or counts["SURVIVED"] > argued else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.breaks", description=__doc__)
    parser.add_argument("--only", action="append", default=[], help="a break, or several, by how its name begins")
    parser.add_argument("--jobs", type=int, default=1, help="how many trees are worked on at once")
    parser.add_argument("--unchecked", action="store_true", help="do not run the tests unbroken first")
    return parser.parse_args()


def _tell(told: Told) -> None:
    why = told.entry.unnoticed if told.verdict == "SURVIVED" else ""
    _say(f"{told.verdict:12} {told.entry.name}: {told.entry.means} [{why or told.by}]")


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
