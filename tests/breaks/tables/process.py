"""Owners, leases, interrupts, and the turns that run in a process."""

from __future__ import annotations

from tests.breaks.entry import Break

BREAKS = (
    Break(
        "lease-secs", "live/owner.py",
        "LEASE: Instant = 30 * SECOND",
        "LEASE: Instant = 3 * SECOND",
        ("unit/live/test_owner.py",),
        "A lease lasts 3 seconds.",
    ),
    Break(
        "renew-secs", "live/owner.py",
        "RENEW: Instant = 10 * SECOND",
        "RENEW: Instant = 100 * SECOND",
        ("unit/live/test_owner.py",),
        "A lease is renewed after it has run out.",
    ),
    Break(
        "alive-elsewhere", "live/owner.py",
        "    if tuple(machine) != _machine():\n"
        "        return lease_until > instant()",
        "    if tuple(machine) != _machine():\n"
        "        return True",
        ("scenarios/test_races.py::test_a_writer_that_lost_its_lease_to_another_host_writes_nothing_more",),
        "A dead process of another host is never noticed.",
    ),
    Break(
        "alive-elsewhere-dead", "live/owner.py",
        "    if tuple(machine) != _machine():\n"
        "        return lease_until > instant()",
        "    if tuple(machine) != _machine():\n"
        "        return False",
        ("scenarios/test_races.py::test_a_writer_that_lost_its_lease_to_another_host_writes_nothing_more",),
        "Every process of another host counts as dead.",
    ),
    Break(
        "alive-stopped", "live/owner.py",
        "return lease_until > instant() and _exists(int(pid), started)",
        "return _exists(int(pid), started)",
        ("unit/live/test_owner.py::test_a_process_beside_this_one_lives_as_long_as_its_lease_too",),
        "A process of this host that stands still keeps its turns for ever.",
    ),
    Break(
        "alive-start-time", "live/owner.py",
        "return _start_time(pid) == started if started else _answers(pid)",
        "return _answers(pid)",
        ("unit/live/test_owner.py::test_a_process_with_the_same_number_and_another_start_is_another_one",),
        "A process that has the pid of a dead one is taken for it.",
    ),
    Break(
        "alive-own-start-time", "live/owner.py",
        "if int(pid) == os.getpid() and started ==",
        "if int(pid) == os.getpid() or started ==",
        ("unit/live/test_owner.py::test_a_process_with_the_same_number_and_another_start_is_another_one",),
        "A dead process that had our pid is taken for us.",
    ),
    Break(
        "alive-token", "live/owner.py",
        "return token in _lost and turn_id not in _lost[token]",
        "return turn_id not in _lost.get(token, ())",
        ("unit/live/test_owner.py",),
        "A runtime that was closed keeps its turns.",
    ),
    Break(
        "alive-lost", "live/owner.py",
        "return token in _lost and turn_id not in _lost[token]",
        "return token in _lost",
        ("scenarios/test_stop.py::test_a_cancelled_turn_task_leaves_a_session_that_goes_on",),
        "A turn whose task is gone counts as running.",
    ),
    Break(
        "alive-zombie", "live/owner.py",
        'None if fields[0] in "ZX" else',
        'None if fields[0] in "X" else',
        ("unit/live/test_owner.py",),
        "A process that has ended and is not waited for counts as running.",
    ),
    Break(
        "alive-namespace", "live/owner.py",
        '_read("/proc/sys/kernel/random/boot_id"), _namespace())',
        '_read("/proc/sys/kernel/random/boot_id"), "")',
        ("unit/live/test_owner.py",),
        "Pids of two namespaces are taken for one.",
    ),
    Break(
        "alive-boot", "live/owner.py",
        '(socket.gethostname(), _read("/proc/sys/kernel/random/boot_id"),',
        '(socket.gethostname(), "",',
        ("unit/live/test_owner.py",),
        "A pid from before the last boot is taken for one of now.",
    ),
    Break(
        "owner-close", "live/owner.py",
        "        _lost.pop(self._token, None)\n",
        "        pass\n",
        ("unit/live/test_owner.py",),
        "A closed runtime counts as alive.",
    ),
    Break(
        "interrupt-first", "live/interrupt.py",
        "        if self.reason is None:\n"
        "            self.reason = reason",
        "        if True:\n"
        "            self.reason = reason",
        ("unit/live/test_interrupt.py",),
        "The last reason to end counts, not the first.",
    ),
    Break(
        "interrupt-uncancel", "live/interrupt.py",
        "            task.uncancel()\n",
        "",
        ("unit/live/test_interrupt.py",),
        "A task that was interrupted stays cancelled.",
    ),
    Break(
        "interrupt-after", "live/interrupt.py",
        "                self._waiting.discard(task)\n"
        "        self.check()",
        "                self._waiting.discard(task)",
        ("unit/live/test_interrupt.py",),
        "A stop that came as a model ended is heard one call later.",
    ),
    Break(
        "interrupt-before", "live/interrupt.py",
        "        self.check()\n"
        "        task = asyncio",
        "        task = asyncio",
        ("unit/live/test_interrupt.py",),
        "A stop between two calls lets the next one begin.",
    ),
    Break(
        "cache-head", "live/history_cache.py",
        "kept = (entry.session_key, entry.head, entry.lean, entry.history.reader)\n"
        "        return entry if kept == (session_key, head, lean, reader)",
        "kept = (entry.session_key, entry.lean, entry.history.reader)\n"
        "        return entry if kept == (session_key, lean, reader)",
        ("unit/live/test_history_cache.py::test_only_the_very_same_reading_is_found",),
        "The history of another head is read.",
    ),
    Break(
        "renew-never", "running/turns.py",
        "                    await self._store.renew(keys, self._owner.text, at + LEASE)\n",
        "",
        ("scenarios/test_leases.py::test_a_long_turn_keeps_its_session_by_renewing_its_lease",),
        "Leases are not renewed.",
    ),
    Break(
        "renew-clock-back", "running/turns.py",
        "if not 0 <= (at := clock.instant()) - renewed < RENEW:",
        "if (at := clock.instant()) - renewed >= RENEW:",
        ("scenarios/test_leases.py",),
        "A clock that was put back ends the renewals.",
    ),
)  # fmt: skip
