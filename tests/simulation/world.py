"""One life: processes, clients and faults under a scheduler whose every choice comes from the seed."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import itertools
import random
import sqlite3
import sys
import traceback
import zlib
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack
from typing import Any

from agentflow import FlowContext, ModelRequest, TurnResult
from agentflow.message import Usage
from tests.simulation import agents, operations, verdict
from tests.simulation.database import new_database
from tests.simulation.ledger import Ledger, Violation
from tests.simulation.loop import LANE, SimulatedLoop
from tests.simulation.machine import PROCESS_OF, Jobs, Process, faked
from tests.simulation.model import sent_text
from tests.simulation.operations import CLIENTS, Client, Operation
from tests.simulation.rows import Rows
from tests.simulation.sent import check_request

_TIME_PASSES = 0.03  # how often time passes though somebody could go on
_PATIENCE_SECS = 120.0
_A_LITTLE = 0.5
_MOST_CALM_STEPS = 60_000


class World:
    """`history` has a line for each step when it is kept; `digest` sums all of them in any case."""

    def __init__(
        self, seed: int, steps: int, chosen: Sequence[Operation] | None = None, *, keep_history: bool = False
    ) -> None:
        self.seed, self.steps = seed, steps
        self.rng = random.Random(f"{seed} schedule")
        shape = random.Random(f"{seed} shape")
        self.hosts = shape.choice([["a"], ["a", "a"], ["a", "a", "b"], ["a", "b"]])
        self.leaders = [shape.choice(agents.LEADERS) for _ in range(shape.choice([1, 2, 3]))]
        drawn = operations.drawn(shape, steps, len(self.leaders), len(self.hosts))
        self.operations = list(drawn if chosen is None else chosen)
        self.loop = SimulatedLoop()
        self.shared: sqlite3.Connection = new_database()
        self.ledger = Ledger()
        self.rows = Rows(self.shared, lambda session: session in self.ledger.emptied)
        self.slots: list[Process | None] = [None] * len(self.hosts)
        self.calm = False
        self.violation: Violation | None = None
        self.step_number = 0
        self.digest = 0
        self.history: list[str] | None = [] if keep_history else None
        self.results: list[tuple[str, TurnResult]] = []
        self.clients: list[tuple[asyncio.Task[None], Operation]] = []
        self.begun: list[Operation] = []
        self._back_at = [0] * len(self.hosts)
        self._next = 0
        self._is_over = False
        self._ids, self._pids, self._counts = itertools.count(1), itertools.count(1000), Counter[tuple[object, ...]]()

    # -- what the agents ask ----------------------------------------------------------------------------------------

    def agent_of(self, session: int) -> str:
        return self.leaders[session]

    def chance(self, *key: object) -> random.Random:
        return random.Random(f"{self.seed} {key}")

    def count(self, *key: object) -> int:
        self._counts[key] += 1
        return self._counts[key]

    def ran(self, context: FlowContext) -> None:
        self.remark(f"a tool runs: {context.idempotency_key}")
        self._guard(self.ledger.ran, context.idempotency_key)

    def goes_on(self, context: FlowContext) -> None:
        """A call that is closed has no effect any more, unless its process could not know (T23)."""
        found = self.rows.all(
            "SELECT status FROM tool_call JOIN session ON key = session_key JOIN turn ON turn.session_key = key AND "
            "turn.number = tool_call.turn WHERE session.id = ? AND turn.id = ? AND tool_call.id = ? "
            "AND tool_call.status NOT IN ('started', 'finished')",
            context.session_id, context.turn_id, context.call_id,
        )  # fmt: skip
        if found and not context.execution and not PROCESS_OF[LANE.get()].is_disturbed:
            self.fail(Violation("a tool goes on after its call was closed", f"{context.idempotency_key}: {found}"))

    def used(self, call_id: str, usage: Usage) -> None:
        self.ledger.used.setdefault(call_id, []).append(usage)

    def asked(self, request: ModelRequest) -> None:
        if self.history is not None:
            self.remark(f"{request.purpose} call {request.call_id} of {request.session_id}: {sent_text(request)}")
        self._guard(check_request, self.rows, request)

    def told(self, session: str, result: TurnResult) -> None:
        self.remark(f"{session} result of {result.turn_id}: {result.state} {result.answer!r}")
        self.results.append((session, result))

    def must_have_ended(self, session: str, turn_id: str) -> None:
        states = self.rows.all(
            "SELECT state FROM turn JOIN session ON key = session_key WHERE session.id = ? AND turn.id = ?",
            session, turn_id,
        )  # fmt: skip
        if [state for (state,) in states if state not in ("done", "failed", "aborted")]:
            raise Violation("stopped, and it goes on", f"{session} {turn_id}: {states}")

    def must_be_dead(self, session: str, turn_id: str) -> None:
        """Only of a turn whose process is gone may an end be told that nobody has recorded (T42)."""
        found = self.rows.all(
            "SELECT turn.id, turn.state, owner FROM turn JOIN session ON key = session_key WHERE session.id = ?1 AND "
            "turn.id = coalesce((SELECT target FROM alias WHERE session_key = key AND kind = 'turn' AND alias = ?2), "
            "?2)",
            session, turn_id,
        )  # fmt: skip
        lives = not any(each.is_disturbed for each in PROCESS_OF.values()) and any(
            owner is not None and f"|{each.pid}|" in owner and each.is_up
            for *_, owner in found
            for each in PROCESS_OF.values()
        )
        if not found or lives:
            raise Violation("a turn that lives is told dead", f"{session} {turn_id}: {found}")

    def open_call(self, session: str, rng: random.Random) -> str | None:
        """A call somebody outside may settle: an open one, or any that was."""
        calls = self.rows.all(
            "SELECT tool_call.id FROM tool_call JOIN session ON key = session_key WHERE session.id = ? "
            "AND tool_call.name = 'outside' ORDER BY status = 'started' DESC, tool_call.turn DESC LIMIT 2",
            session,
        )
        return rng.choice(calls)[0] if calls else None

    def new_id(self) -> str:
        return f"i{next(self._ids):05d}"

    def _guard(self, check: Any, *given: Any) -> None:
        try:
            check(*given)
        except Violation as violation:
            self.fail(violation)

    def fail(self, violation: Violation) -> None:
        if not self._is_over:
            self.violation = self.violation or violation

    def counted(self) -> Counter[str]:
        """How much of what happened."""
        (row,) = self.rows.all("SELECT (SELECT count(*) FROM turn), (SELECT count(*) FROM message)")
        return self.ledger.counts + Counter({"turns": row[0], "messages": row[1], "tool runs": len(self.ledger.runs)})

    # -- a life -----------------------------------------------------------------------------------------------------

    def run(self) -> Violation | None:
        """Live; what was violated first."""
        hooks = sys.get_asyncgen_hooks()
        gc.disable()  # what is collected when must not depend on what ran before
        with ExitStack() as stack:
            stack.callback(gc.enable)
            stack.callback(sys.set_asyncgen_hooks, *hooks)
            stack.callback(agents.set_stage, None)
            stack.enter_context(faked(self.loop, self.new_id, lambda: self.rng.choice([0, 0, 0.3, 4.0])))
            stack.enter_context(self.loop)
            sys.set_asyncgen_hooks(finalizer=lambda generator: None)
            agents.set_stage(self)
            try:
                while self.step_number < self.steps and self.step():
                    pass
                self.calm_down()
                verdict.check(self)
            except Violation as violation:
                self.fail(violation)
            finally:
                self._let_go()
        return self.violation

    def _let_go(self) -> None:
        self._is_over = True
        for process in self.slots:
            if process is not None:
                process.kill()
        for task in self.loop.unfinished():
            task._log_destroy_pending = False  # type: ignore[attr-defined]
            with contextlib.suppress(BaseException):  # what its `finally` says is heard by nobody
                task.get_coro().close()  # type: ignore[union-attr]

    def calm_down(self) -> None:
        """No more operations and faults: everything that was begun comes to an end."""
        self.calm, self._next = True, len(self.operations)
        for process in self.slots:
            if process is None:
                continue
            process.dies_after, process.lane.awake_at = None, 0.0
            process.database.faults.places.clear()
            for jobs in process.jobs:
                jobs.slow_until = 0.0
            patience = self.loop.now + _PATIENCE_SECS  # of clients that wait behind a question nobody answers
        self.until(lambda: self.all_answered() or self.loop.now > patience, "it never comes to rest")

    def all_answered(self) -> bool:
        return all(task.done() for task, _ in self.clients)

    def until(self, done: Any, otherwise: str) -> None:
        """Go on until it is done."""
        for _ in range(_MOST_CALM_STEPS):
            if done():
                return
            if not self.step():
                break
        if not done():
            waiting = [str(operation) for task, operation in self.clients if not task.done()]
            raise Violation(otherwise, f"at {self.loop.now:.1f} s, waiting: {waiting}")

    def call(self, process: Process, coroutine: Any, name: str) -> Any:
        """What a coroutine of a process comes to."""
        task = process.task(coroutine, name)
        self.until(task.done, f"{name} never ends")
        return task.result()

    # -- one step ---------------------------------------------------------------------------------------------------

    def step(self) -> bool:
        """One choice; false when there is nothing left to choose. Raises the violation that came of it."""
        choices = self._choices()
        due = self.loop.next_time()
        operation = self._due_operation(idle=not choices and due is None)
        if operation is not None:
            choices.append(operation)
        if due is not None and (not choices or self._time_may_pass(due)):
            choices = [None]
        if not choices:
            return False
        chosen = choices[self.rng.randrange(len(choices))]
        self.step_number += 1
        match chosen:
            case None:
                self.loop.advance()
                self._note(f"time passes: {self.loop.now:.3f} s")
            case Jobs():
                self._work(chosen)
            case Operation():
                self._next += 1
                self.begun.append(chosen)
                self._note(f"-- {chosen} --")
                self._perform(chosen)
            case int():
                self._open(chosen)
            case _:
                handle = self.loop.run(chosen.lane)
                self._note(chosen.name, "" if self.history is None else _what(handle))
        if self.loop.complaints:
            self._complain()
        if self.violation is not None:
            raise self.violation
        return True

    def _time_may_pass(self, due: float) -> bool:
        """A little, though somebody could go on: no machine is so slow that a lease runs out meanwhile."""
        return due - self.loop.now < _A_LITTLE and self.rng.random() < _TIME_PASSES

    def _choices(self) -> list[Any]:
        choices: list[Any] = []
        now = self.loop.now
        for slot, process in enumerate(self.slots):
            if process is None:
                if not self.calm and self.step_number >= self._back_at[slot]:
                    choices.append(slot)
            elif process.lane.awake_at <= now:
                if process.lane.ready:
                    choices.append(process)
                choices += [jobs for jobs in process.jobs if jobs.waiting and jobs.slow_until <= now]
        return choices

    def _due_operation(self, *, idle: bool) -> Operation | None:
        if self._next >= len(self.operations):
            return None
        operation = self.operations[self._next]
        return operation if idle or operation.at <= self.step_number else None

    def _work(self, jobs: Jobs) -> None:
        process = jobs.process
        commits = process.commits
        group = process.context.run(jobs.work, self.rng)
        self._note(f"{process.name} {jobs.name} {len(group)}", "" if self.history is None else _jobs(group))
        if process.commits != commits:
            self.rows.check()
            if process.dies_after is not None and process.dies_after <= 0 and not self.calm:
                self._note(f"{process.name} dies after its commit {process.commits}")
                self._kill(process)
                return
        process.context.run(jobs.answer, group)

    def _complain(self) -> None:
        for lane, context in self.loop.complaints:
            if lane is None or lane.is_alive:
                error = context.get("exception")
                told = "" if error is None else "".join(traceback.format_exception(error))
                raise Violation("an error nobody caught", f"{context.get('message')}\n{told}")
        self.loop.complaints.clear()

    def _note(self, line: str, detail: str = "") -> None:
        self.digest = zlib.crc32(line.encode(), self.digest)
        if self.history is not None:
            self.history.append(f"{self.step_number:6d} {line} {detail}")

    def remark(self, line: str) -> None:
        """For whoever reads the history."""
        if self.history is not None:
            self.history.append(f"       | {line}")

    # -- operations -------------------------------------------------------------------------------------------------

    def _open(self, slot: int) -> Process:
        name = f"p{next(self._pids) - 1000}"
        host = self.hosts[slot]
        drain = self.rng.random() < 0.5
        process = Process(
            self.loop, self.shared, agents.agents(), self.new_id, name, host, next(self._pids), drain=drain,
            serve_queues=self.rng.random() < 0.9,
        )  # fmt: skip
        self.slots[slot] = process
        self._note(f"{name} starts on host {host}{', draining' if drain else ''}")
        process.task(self._shielded(process.runtime.__aenter__), f"{name} enters")
        return process

    async def _shielded(self, work: Callable[[], Awaitable[Any]]) -> None:
        """What a process does by itself; an error is no answer to anybody."""
        try:
            await work()
        except Violation as violation:
            self.fail(violation)
        except Exception as error:
            if getattr(error, "code", "") not in ("store_error", "stale_owner"):
                self.fail(Violation("an unexpected error", "".join(traceback.format_exception(error))))

    def _kill(self, process: Process) -> None:
        slot = self.slots.index(process)
        process.kill()
        self.slots[slot] = None
        self._back_at[slot] = self.step_number + self.rng.choice([0, 30, 300])
        self.clients = [(task, each) for task, each in self.clients if not self._is_of(task, process)]

    @staticmethod
    def _is_of(task: asyncio.Task[None], process: Process) -> bool:
        return task.get_name().startswith(f"{process.name} ")

    def _perform(self, operation: Operation) -> None:
        process = self.slots[operation.slot]
        if process is None:
            process = next((each for each in self.slots if each is not None), None) or self._open(operation.slot)
        self.ledger.counts[operation.kind] += operation.kind not in CLIENTS
        rng = random.Random(operation.seed)
        match operation.kind:
            case "kill":
                self._kill(process)
            case "kill_after_commit":
                process.dies_after = rng.randint(1, 6)
            case "close":
                if not process.is_closing:
                    process.is_closing = process.is_disturbed = True
                    process.task(self._close(process), f"{process.name} closes")
            case "suspend":
                process.is_disturbed = True
                process.lane.awake_at = self.loop.now + rng.choice([1.0, 33.0, 45.0])
                self.loop.alarm(process.lane.awake_at)
            case "refuse":
                process.is_disturbed = True
                places = ["begin", "statement", "commit", "answer"]
                process.database.faults.places += [rng.choice(places) for _ in range(rng.choice([1, 1, 3]))]
            case "slow":
                process.is_disturbed = True
                for jobs in process.jobs:
                    jobs.slow_until = self.loop.now + rng.choice([0.3, 3.0, 35.0])
                    self.loop.alarm(jobs.slow_until)
            case _:
                client = Client(self, operation, process)
                task = process.task(self._client(client), f"{process.name} {operation}")
                self.clients.append((task, operation))

    async def _client(self, client: Client) -> None:
        try:
            await client.perform()
        except Violation as violation:
            self.fail(violation)
        except Exception as error:
            self.fail(Violation("an unexpected error", "".join(traceback.format_exception(error))))

    async def _close(self, process: Process) -> None:
        await self._shielded(process.runtime.close)
        if process in self.slots:
            self._kill(process)


def _what(handle: asyncio.Handle | None) -> str:
    """Whose callback it was."""
    callback: Any = getattr(handle, "_callback", None)
    owner = getattr(callback, "__self__", None)
    if isinstance(owner, asyncio.Task):
        return f"[{owner.get_name()}] {getattr(owner.get_coro(), '__qualname__', '')}"
    return str(getattr(callback, "__qualname__", callback))


def _jobs(group: Sequence[Any]) -> str:
    names = [getattr(job.call, "__qualname__", str(job.call)).removesuffix(".<locals>.<lambda>") for job in group]
    errors = [f"{type(job.error).__name__}" for job in group if job.error is not None]
    return ", ".join([*names, *errors])
