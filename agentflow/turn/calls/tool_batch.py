"""The tool calls of one reply: bounded side by side, each recorded as it ends, the turn-ender last (T8, T14)."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import replace
from typing import Any

from agentflow.clock import NewId
from agentflow.live.interrupt import Interrupt
from agentflow.message import Message, ToolCall
from agentflow.tools.calls import Prepared, finalize, prepare
from agentflow.tools.results import ToolResult, refused
from agentflow.turn.rules.decisions import Pause, RunTools
from agentflow.turn.run import tool_calls
from agentflow.turn.run.execution import Execution
from agentflow.turn.run.in_flight import milliseconds_since

Perform = Callable[[Prepared], Coroutine[Any, Any, ToolResult | Pause]]

NOBODY_TO_ASK = "Nobody can be asked here. Decide yourself, or report back what you need to know."

_WAITS_FOR_CLIENT = "Not run: the turn waits for the client, which performs '{name}'. Call this in a reply of its own."

_GIVE_UP_SECS = 0.2  # how long a cancelled async flow may take to end before the turn goes on without it


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
        self._ready: list[Prepared] = []
        self._waiting: deque[Prepared] = deque()
        self._ender: Prepared | None = None
        self._running: dict[asyncio.Task[ToolResult | Pause], tuple[Prepared, float]] = {}
        self._order = [call.id for call in plan.ordinary]

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
            self._record(call, result, None)

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
        prepared = prepare(call, agent.tools)
        if isinstance(prepared, ToolResult):
            failed.append((call, prepared))
        else:
            accept(prepared)

    def _set_ender(self, prepared: Prepared) -> None:
        self._ender = prepared

    def _set_asked(self, prepared: Prepared) -> None:
        self.asked = prepared

    async def run(self, interrupt: Interrupt, last: Callable[[], bool]) -> None:
        """Commit what is staged and run it.

        `last()` is called once every call has its result, before that result is committed, so that what follows
        can ride on the commit; when it returns false it is left to the caller.
        """
        try:
            if self._ready or last():
                await self._execution.commit()
            while self._ready or self._running:
                self._start_ready()
                with interrupt.window():
                    await asyncio.wait(self._running, return_when=asyncio.FIRST_COMPLETED)
                self._take_results()
                for prepared in self._take_free_slots():
                    tool_calls.start(self._execution, prepared.call)
                if self._ready or self._running or last():
                    await self._execution.commit()
        finally:
            await _abandon(self._running)

    def _take_results(self) -> None:
        """Record every result there is; a call that failed the turn does so once the others have theirs (B07)."""
        failed = None
        for task in [task for task in self._running if task.done()]:
            prepared, started = self._running.pop(task)
            if (error := task.exception()) is None:
                self._ended(prepared, task.result(), started)
            failed = failed or error
        if failed is not None:
            raise failed

    def _ended(self, prepared: Prepared, result: ToolResult | Pause, started: float) -> None:
        if isinstance(result, Pause):
            self._paused(result)
        else:
            self._record(prepared.call, finalize(result, prepared.tool), started, prepared)

    def _paused(self, pause: Pause) -> None:
        """The call stays open: a sub-agent that the turn was handed to waits, or the client performs the call."""
        if not pause.calls:
            self._ender = None
        before = () if self.pause is None else self.pause.calls
        calls = tuple(sorted((*before, *pause.calls), key=lambda call: self._order.index(call.id)))
        self.pause = replace(pause, call_id=calls[0].id, calls=calls) if calls else pause

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

    def _record(
        self, call: ToolCall, result: ToolResult, started: float | None, prepared: Prepared | None = None
    ) -> None:
        milliseconds = None if started is None else milliseconds_since(started)
        self.results.append(tool_calls.finish(self._execution, call.id, self._new_id(), result, milliseconds))
        if prepared is not None and prepared is self._ender:
            self._ender = None
            self.answer = result.text if result.ok else None


async def _abandon(running: Iterable[asyncio.Task[ToolResult | Pause]]) -> None:
    """Cancel what still runs; whatever it returns later is dropped (T23)."""
    tasks = list(running)
    for task in tasks:
        task.cancel()
    if tasks:
        ended, _ = await asyncio.wait(tasks, timeout=_GIVE_UP_SECS)
        for task in ended:
            if not task.cancelled():
                task.exception()  # nobody else will look at it
