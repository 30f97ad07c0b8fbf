"""The turns that run in this process: started, kept alive, interrupted, followed by the next of the queue."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import NamedTuple

from agentflow import clock
from agentflow.agents.loaded_agent import LoadedAgent
from agentflow.agents.loading import Agents
from agentflow.clock import NewId
from agentflow.config.inputs import check_inputs
from agentflow.errors import AgentflowError, StoreError
from agentflow.live.event_feed import Feeds
from agentflow.live.history_cache import HistoryCache
from agentflow.live.interrupt import StopReason
from agentflow.live.owner import LEASE, RENEW_SECS, Owner, is_alive
from agentflow.message import TurnState
from agentflow.result import TurnResult
from agentflow.store.protocol import Store
from agentflow.store.records import Claimed
from agentflow.store.requests import Owning
from agentflow.turn.step_runner import StepRunner
from agentflow.turn_table import Trigger, target

_log = logging.getLogger("agentflow.runtime")

POLL_SECS = 0.25
_CLOSE_SECS = 5.0


def _move(trigger: Trigger, state: TurnState) -> tuple[TurnState, TurnState]:
    return state, target("", state, trigger)


class Running(NamedTuple):
    """A turn's task, and the session it has."""

    session_key: int
    runner: StepRunner
    task: asyncio.Task[TurnResult]


class RunningTurns:
    """At most one per session. `close` ends them and keeps what they have so far."""

    def __init__(self, store: Store, agents: Agents, feeds: Feeds, new_id: NewId, serve_queues: bool) -> None:
        self.cache = HistoryCache()
        self._store = store
        self._agents = agents
        self._feeds = feeds
        self._new_id = new_id
        self._owner = Owner()
        self._turns: dict[str, Running] = {}  # by session
        self._closing = False
        self._serves = serve_queues
        self._heartbeat: asyncio.Task[None] | None = None

    def get(self, session_id: str, turn_id: str) -> Running | None:
        """This turn, when it runs here."""
        running = self._turns.get(session_id)
        return running if running is not None and running.runner.turn_id == turn_id else None

    def interrupt(self, session_id: str, turn_id: str, reason: StopReason) -> None:
        """Ask this turn to end, when it runs here."""
        running = self.get(session_id, turn_id)
        if running is not None:
            running.runner.interrupt.request(reason)

    def settled(self, session_id: str, turn_id: str) -> None:
        """Tell this turn, when it runs here, that a call it left open has its result."""
        running = self.get(session_id, turn_id)
        if running is not None:
            running.runner.settled.set()

    def owning(self, agent: LoadedAgent) -> Owning:
        """What a turn that this process claims runs with."""
        at = clock.instant()
        return Owning(
            agent.config.name,
            (agent.config.hash, agent.config_text),
            agent.first_call,
            self._owner.text,
            at + LEASE,
            at,
            is_alive,
            self._new_id,
            lambda given: check_inputs(agent.config.inputs, given),
            planning=agent.config.planning is not None,
        )

    def start(self, session_id: str, agent: LoadedAgent, claimed: Claimed) -> None:
        """Run a claimed turn in a task of its own, after its claim has been told."""
        feed = self._feeds.start(session_id)
        seq = claimed.seq - len(claimed.log) - sum(len(log) for _, log in claimed.before)
        for turn_id, log in (*claimed.before, (claimed.turn_id, claimed.log)):
            seq += len(log)
            feed.publish(turn_id, seq, log)
        following = [agent]

        def next_owning() -> Callable[[], Owning] | None:
            return None if self._closing or not self._serves else owning

        def owning() -> Owning:
            """Asked on the store's thread, and only when something waits."""
            try:
                following[0] = self._agents.load(str(agent.config.path), {})
            except AgentflowError as error:  # gone meanwhile: those who wait are still answered
                _log.warning("the next turn runs with the configuration of the last one: %s", error)
            return self.owning(following[0])

        runner = StepRunner(
            self._store, self.cache, feed, agent, claimed, session_id, self._new_id, next_owning, self._sub_agent
        )
        loop = asyncio.get_running_loop()
        task = loop.create_task(self._run(session_id, runner, following), name=f"agentflow turn {claimed.turn_id}")
        self._turns[session_id] = Running(claimed.key, runner, task)
        task.add_done_callback(lambda ended: self._ended(session_id, claimed.turn_id, ended))
        if self._heartbeat is None or self._heartbeat.done():
            self._heartbeat = loop.create_task(self._beat())

    def _sub_agent(self, reference: str) -> LoadedAgent:
        return self._agents.load(reference, {})

    async def _run(self, session_id: str, runner: StepRunner, following: list[LoadedAgent]) -> TurnResult:
        outcome = await runner.run()
        if outcome.started is not None:
            self.start(session_id, following[0], outcome.started)
        return outcome.result

    def _ended(self, session_id: str, turn_id: str, task: asyncio.Task[TurnResult]) -> None:
        """Also for a task that was cancelled before it began. A failure is told to whoever waits, and to the log."""
        if task.cancelled() or task.exception() is not None:
            self._owner.lost(turn_id)
            if not task.cancelled():
                _log.error("%s ended without a result: %s", task.get_name(), task.exception())
        if self._turns[session_id].task is task:  # the next turn may have begun
            del self._turns[session_id]
            self._feeds.stop(session_id)

    async def _beat(self) -> None:
        """While turns run: renew their leases (T27) and hear of stops asked for elsewhere (T23)."""
        loop = asyncio.get_running_loop()
        renewed = loop.time()
        while self._turns:
            await asyncio.sleep(POLL_SECS)
            keys = [running.session_key for running in self._turns.values()]
            try:
                asked = await self._store.stops(keys)
                for running in self._turns.values():
                    if (running.session_key, running.runner.turn_id) in asked:
                        running.runner.interrupt.request("stop")
                if loop.time() - renewed >= RENEW_SECS:
                    await self._store.renew(keys, self._owner.text, clock.instant() + LEASE)
                    renewed = loop.time()
            except StoreError as error:
                _log.warning("leases could not be renewed, trying again: %s", error)

    async def close(self) -> None:
        """End what runs here; queues stay as they are (C21)."""
        self._closing = True
        tasks = [running.task for running in self._turns.values()]
        for running in self._turns.values():
            running.runner.interrupt.request("closing")
        if tasks:
            await asyncio.wait(tasks, timeout=_CLOSE_SECS)
        if self._heartbeat is not None:
            self._heartbeat.cancel()
        self._owner.close()
