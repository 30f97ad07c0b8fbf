"""T23: sync flows run on daemon threads of our own."""

import os
import subprocess
import sys
import threading

from agentflow.tools.flows.threads import DaemonThreads


def run_and_name(threads: DaemonThreads) -> threading.Thread:
    done = threading.Event()
    seen: list[threading.Thread] = []

    def job() -> None:
        seen.append(threading.current_thread())
        done.set()

    threads.run(job)
    assert done.wait(5)
    return seen[0]


def until_idle(threads: DaemonThreads, count: int) -> None:
    while threads._idle != count:
        os.sched_yield()


def test_an_idle_thread_is_used_again() -> None:
    threads = DaemonThreads()
    first = run_and_name(threads)
    until_idle(threads, 1)
    assert run_and_name(threads) is first
    assert first.daemon


def test_a_hung_job_keeps_only_its_own_thread() -> None:
    threads, release, hanging = DaemonThreads(), threading.Event(), threading.Event()

    def hang() -> None:
        hanging.set()
        release.wait()

    threads.run(hang)
    assert hanging.wait(5)
    run_and_name(threads)
    release.set()
    until_idle(threads, 2)


def test_only_so_many_idle_threads_are_kept() -> None:
    threads = DaemonThreads(keep=0)
    thread = run_and_name(threads)
    thread.join(5)
    assert not thread.is_alive()


def test_a_forked_child_starts_threads_of_its_own() -> None:
    """Run in a fresh interpreter, which has no other threads to fork."""
    script = """
import os, threading
from agentflow.tools.flows.threads import FLOW_THREADS
def works():
    done = threading.Event()
    FLOW_THREADS.run(done.set)
    return done.wait(5)
assert works()
child = os.fork()
if child == 0:
    os._exit(0 if works() else 1)
raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert subprocess.run([sys.executable, "-W", "ignore", "-c", script], check=False).returncode == 0


def test_a_hung_job_does_not_keep_the_process_alive() -> None:
    script = """
import threading
from agentflow.tools.flows.threads import FLOW_THREADS
started = threading.Event()
FLOW_THREADS.run(lambda: (started.set(), threading.Event().wait()))
assert started.wait(5)
"""
    assert subprocess.run([sys.executable, "-c", script], check=False, timeout=30).returncode == 0
