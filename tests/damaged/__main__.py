"""The whole matrix: `python -m tests.damaged [reading|writing|all] [PART/PARTS]` prints each case that ends in a fault,
and how many did.
"""

from __future__ import annotations

import faulthandler
import re
import signal
import sys
import tempfile
import traceback
from collections import Counter
from pathlib import Path
from unittest import mock

from tests.damaged.cases import COMMANDS, READING, WRITING, Bench, damages, inflict
from tests.damaged.project import make

_MOST_SECS = 20
_CODE = re.compile(r"^error \((.+?)\)", re.M)


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


class _Hangs(BaseException):
    pass


def _hangs(*_: object) -> None:
    faulthandler.dump_traceback()
    raise _Hangs


def main() -> None:
    which, share = (*sys.argv[1:], *("all", "0/1")[len(sys.argv) - 1 :])
    commands = {"reading": READING, "writing": WRITING, "all": COMMANDS}[which]
    part, parts = map(int, share.split("/"))
    signal.signal(signal.SIGALRM, _hangs)
    runs, left, codes = 0, 0, Counter[str | int]()
    with tempfile.TemporaryDirectory() as name, mock.patch("sys.stdin", None):
        make(Path(name))
        bench = Bench(Path(name))
        for number, damage in enumerate(damages()):
            if number % parts != part:
                continue
            db = bench.copy()
            if not inflict(db, damage):
                continue
            for command in commands:
                runs += 1
                signal.alarm(_MOST_SECS)
                try:
                    said = bench.run(command, db)
                except BaseException:
                    _say(f"{damage}: {command}: {traceback.format_exc()}")
                    left += 1
                    continue
                codes[", ".join(sorted({*_CODE.findall(said.err)})) or said.code] += 1
                if said.fault is not None:
                    left += 1
                    _say(f"{damage}: {command}: {(said.err + said.out).strip()[-300:]!r}")
    _say(f"{runs} runs, {left} faults, and {dict(codes)}")


main()
