"""The tool calls of one reply: bounded side by side, each recorded as it ends, the turn-ender last (T8, T14)."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from agentflow.clock import NewId
from agentflow.live.interrupt import Interrupt
from agentflow.message import Message, ToolCall
from agentflow.tools.calls import Prepared, is_long, prepare, prepare_apart
from agentflow.tools.results import ToolResult, refused
from agentflow.turn.decide.decision import Decision
from agentflow.turn.rules.decisions import Pause, RunTools
from agentflow.turn.run import tool_calls
from agentflow.turn.run.execution import Execution
from agentflow.turn.run.in_flight import milliseconds_since

Outcome = ToolResult | Pause | Decision
"""A result; a sub-agent's question, for which the call stays open; or what a worker said instead of a result."""

Perform = Callable[[Prepared], Coroutine[Any, Any, Outcome]]

NOBODY_TO_ASK = "Nobody can be asked here. Decide yourself, or report back what you need to know."

_WAITS_FOR_CLIENT = "Not run: the turn waits for the client, which performs '{name}'. Call this in a reply of its own."

_GIVE_UP_SECS = 0.2  # how long a cancelled async flow may take to end before the turn goes on without it


@dataclass(frozen=True, slots=True)
class Finished:
    """A call that came to something; `started` is the loop's time, null when that was in another process."""

    prepared: Prepared
    outcome: Outcome
    started: float | None


class ToolBatch:
    """`results` are in the order they were recorded; `answer` is the text of the call that ended the turn.

    `asked` is the checked `ask_user` call that is left open for the user's answer; with `pause` it is a sub-agent
    that asked, and the call that handed the turn over stays open, or calls are left open for the client (C38).
    """

    def __init__(self, execution: Execution, plan: RunTools, perform: Perform, new_id: NewId) -> None:
        self.results: list[Message] = []
        self.answer: str | None = None
        self.asked: Prepared | None = None
        self.pause: Pause | None = None
        self._execution = execution
        self._perform = perform
        self._new_id = new_id
        self._slots = execution.agent.config.settings.max_parallel_tools or len(plan.ordinary)
        self._prepared: dict[str, Prepared | ToolResult] = {}
        self._ready: list[Prepared] = []
        self._waiting: deque[Prepared] = deque()
        self._ender: Prepared | None = None
        self._running: dict[asyncio.Task[Outcome], tuple[Prepared, float]] = {}
        self._order = [call.id for call in plan.ordinary]

    async def prepare(self, calls: Sequence[ToolCall]) -> None:
        """Check long arguments beside the loop, before anything of the calls is staged."""
        tools = self._execution.agent.tools
        self._prepared = {call.id: await prepare_apart(call, tools) for call in calls if is_long(call)}

    def stage(self, plan: RunTools, calls: Sequence[ToolCall], reply_id: str) -> None:
        """Stage one row per call, and at once the error results of those that cannot run (T11, T13)."""
        failed = [*((call, refused(why, "refused")) for call, why in plan.refused), *plan.settled]
        plan = self._without_enders(plan, failed)
        for call in plan.ordinary:
            self._sort(call, self._waiting.append, failed)
        if plan.ender is not None:
            self._sort(plan.ender, self._set_ender, failed)
        if plan.ask is not None:
            if plan.ask.name in self._execution.agent.tools:
                self._sort(plan.ask, self._set_asked, failed)
            else:
                failed.append((plan.ask, refused(NOBODY_TO_ASK, "refused")))
        starting = {prepared.call.id for prepared in self._take_free_slots()}
        for call in calls:
            tool_calls.request(self._execution, call, reply_id, started=call.id in starting)
        for call, result in failed:
            self._record(call, result, self._new_id(), None)

    def _without_enders(self, plan: RunTools, failed: list[tuple[ToolCall, ToolResult]]) -> RunTools:
        """A reply that leaves calls to the client pauses for them alone (C38)."""
        names = self._execution.agent.client_tools
        client = next((call for call in plan.ordinary if call.name in names), None)
        if client is None:
            return plan
        enders = [call for call in (plan.ask, plan.ender) if call is not None]
        failed += ((call, refused(_WAITS_FOR_CLIENT.format(name=client.name), "refused")) for call in enders)
        return replace(plan, ask=None, ender=None)

    def _sort(
        self, call: ToolCall, accept: Callable[[Prepared], None], failed: list[tuple[ToolCall, ToolResult]]
    ) -> None:
        agent = self._execution.agent
        if call.name not in agent.tools and call.name in agent.withheld_tools:
            failed.append((call, refused(NOBODY_TO_ASK, "refused")))
            return
        prepared = self._prepared.get(call.id) or prepare(call, agent.tools)
        if isinstance(prepared, ToolResult):
            failed.append((call, prepared))
        else:
            accept(prepared)

    def _set_ender(self, prepared: Prepared) -> None:
        self._ender = prepared

    def _set_asked(self, prepared: Prepared) -> None:
        self.asked = prepared

    @property
    def is_open(self) -> bool:
        """Whether calls still run or may start; not so the one that waits for an answer."""
        return bool(self._ready or self._running)

    async def next(self, interrupt: Interrupt) -> tuple[list[Finished], BaseException | None]:
        """Start what is ready, and wait for the next calls that end, and for what one of them failed the turn with."""
        self._start_ready()
        with interrupt.window():
            await asyncio.wait(self._running, return_when=asyncio.FIRST_COMPLETED)
        finished: list[Finished] = []
        failure: BaseException | None = None
        for task in [task for task in self._running if task.done()]:
            prepared, started = self._running.pop(task)
            if (error := task.exception()) is None:
                finished.append(Finished(prepared, task.result(), started))
            failure = failure or error
        return finished, failure

    def record(self, finished: Finished, result: ToolResult, message_id: str) -> None:
        """Stage the result of a call."""
        self._record(finished.prepared.call, result, message_id, finished.started)
        if self.ends_with(finished):
            self._ender = None
            self.answer = result.text if result.ok else None

    def ends_with(self, finished: Finished) -> bool:
        """Whether that call ends the turn, when it succeeds."""
        return finished.prepared is self._ender

    def paused(self, pause: Pause) -> None:
        """The call stays open: a sub-agent that the turn was handed to waits, or the client performs the call."""
        if pause.execution != self._execution.number:
            self.pause, self._ender = pause, None
            return
        before = () if self.pause is None else self.pause.calls
        calls = tuple(sorted((*before, *pause.calls), key=lambda call: self._order.index(call.id)))
        self.pause = replace(pause, call_id=calls[0].id, calls=calls)

    def go_on(self, prepared: Prepared, results: Sequence[Message]) -> None:
        """Take up a batch that another process began: only the call that ends the turn is left."""
        self._ender = prepared
        self.results += results

    def start_waiting(self) -> None:
        """Stage what may start now, for the next commit."""
        for prepared in self._take_free_slots():
            tool_calls.start(self._execution, prepared.call)

    async def abandon(self) -> None:
        """Cancel what still runs; whatever it returns later is dropped (T23)."""
        running, self._running, self._ready = self._running, {}, []
        await _abandon(running)

    def _start_ready(self) -> None:
        loop = asyncio.get_running_loop()
        for prepared in self._ready:
            self._running[loop.create_task(self._perform(prepared))] = (prepared, loop.time())
        self._ready = []

    def _take_free_slots(self) -> list[Prepared]:
        """What may start now: waiting calls while there is room, and the ender when it is alone."""
        while self._waiting and len(self._running) + len(self._ready) < self._slots:
            self._ready.append(self._waiting.popleft())
        if self._ender is not None and not self._ready and not self._running:
            self._ready.append(self._ender)
        return self._ready

    def _record(self, call: ToolCall, result: ToolResult, message_id: str, started: float | None) -> None:
        milliseconds = None if started is None else milliseconds_since(started)
        self.results.append(tool_calls.finish(self._execution, call.id, message_id, result, milliseconds))


async def _abandon(running: Iterable[asyncio.Task[Outcome]]) -> None:
    tasks = list(running)
    for task in tasks:
        task.cancel()
    if tasks:
        ended, _ = await asyncio.wait(tasks, timeout=_GIVE_UP_SECS)
        for task in ended:
            if not task.cancelled():
                task.exception()  # nobody else will look at it
