"""Daemon threads of our own for sync flows (T23).

An executor's threads are joined when the interpreter exits, so one hanging flow would keep the process alive; ours
are not. A thread whose flow returned waits for the next job; a hung flow only keeps its own.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from queue import SimpleQueue

Job = Callable[[], None]


class DaemonThreads:
    """Runs each job at once: on an idle thread, or on a new one; at most `keep` idle threads are kept."""

    def __init__(self, keep: int = 16) -> None:
        self._keep = keep
        self.forget()

    def forget(self) -> None:
        """Start over without threads, as a forked child must: it inherits the count but not the threads."""
        self._lock = threading.Lock()
        self._idle = 0
        self._jobs: SimpleQueue[Job] = SimpleQueue()

    def run(self, job: Job) -> None:
        """Contract: the job raises nothing."""
        with self._lock:
            reused = self._idle > 0
            self._idle -= reused
        if reused:
            self._jobs.put(job)
        else:
            threading.Thread(target=self._work, args=(job,), name="agentflow-flow", daemon=True).start()

    def _work(self, job: Job | None) -> None:
        while job is not None:
            job()
            job = None  # what the job holds must not live until the next one comes
            with self._lock:
                if self._idle >= self._keep:
                    return
                self._idle += 1
            job = self._jobs.get()


FLOW_THREADS = DaemonThreads()
if hasattr(os, "register_at_fork"):  # where there is fork
    os.register_at_fork(after_in_child=FLOW_THREADS.forget)
