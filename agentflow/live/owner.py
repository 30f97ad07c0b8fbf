"""Who runs a turn, told so exactly that anybody can see whether it still does (T27).

A process is named by host, boot, pid namespace, pid and start time, so a pid that was given out again is not taken
for the owner. A runtime inside the process has a token of its own: a runtime that was dropped without being closed
is as dead as a killed process.
"""

from __future__ import annotations

import os
import socket
from functools import cache, cached_property
from pathlib import Path

from agentflow.clock import SECOND, Instant, instant, uuid7

LEASE: Instant = 30 * SECOND
RENEW: Instant = 10 * SECOND

_BARS = 5
_LONGEST_PID = 10

_lost: dict[str, set[str]] = {}  # the runtimes of this process by token -> turns whose end they could not write


class Owner:
    """A runtime as the owner of turns. `text` is what its claims carry."""

    def __init__(self) -> None:
        self._token = uuid7()
        self._lost: set[str] = set()
        _lost[self._token] = self._lost

    @cached_property
    def text(self) -> str:
        """Told when first asked: a runtime may be opened in a process and first used in a child of it."""
        return "|".join((*_machine(), str(os.getpid()), _start_time(os.getpid()) or "", self._token))

    def lost(self, turn_id: str) -> None:
        """The task of this turn is gone and the store still says that it runs."""
        self._lost.add(turn_id)

    def close(self) -> None:
        _lost.pop(self._token, None)


def is_alive(owner: str, lease_until: Instant, turn_id: str) -> bool:
    """Is this turn still run by this owner?

    A turn of this process is alive from its claim on, which another thread may ask about before the turn's task has
    begun, until its runtime is closed or its task has failed to write its end. What no owner has written is nobody.
    """
    *machine, pid, started, token = owner.split("|") if owner.count("|") == _BARS else [""] * (_BARS + 1)
    if not pid.isdecimal() or len(pid) > _LONGEST_PID:
        return False
    if tuple(machine) != _machine():
        return lease_until > instant()
    if int(pid) == os.getpid() and started == (_start_time(os.getpid()) or ""):
        return token in _lost and turn_id not in _lost[token]
    return lease_until > instant() and _exists(int(pid), started)


def _exists(pid: int, started: str) -> bool:
    return _start_time(pid) == started if started else _answers(pid)


def _answers(pid: int) -> bool:
    """The same question where the system tells no start times."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _start_time(pid: int) -> str | None:
    """Clock ticks from boot to the start of a process, null when it does not exist, is a zombie, or is not told."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else fields[19]


@cache
def _machine() -> tuple[str, str, str]:
    return (socket.gethostname(), _read("/proc/sys/kernel/random/boot_id"), _namespace())


def _read(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""


def _namespace() -> str:
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""
