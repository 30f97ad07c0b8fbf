"""The turns that run in this process: started, kept alive, interrupted, followed by the next of the queue."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Coroutine
from typing import Any, NamedTuple, TypeVar

from agentflow import clock
from agentflow.agents.data_source import DataSource
from agentflow.agents.loaded_agent import LoadedAgent
from agentflow.agents.loading import Agents
from agentflow.clock import NewId
from agentflow.config.inputs import check_inputs
from agentflow.conversation import arguments
from agentflow.errors import AgentflowError, AgentNotFound, InvalidConfig, StoreError
from agentflow.live.event_feed import Feeds
from agentflow.live.history_cache import HistoryCache
from agentflow.live.home import another_loop
from agentflow.live.interrupt import StopReason
from agentflow.live.owner import LEASE, RENEW, Owner, is_alive
from agentflow.records.chat_names import ChatNames
from agentflow.result import Receipt, TurnResult
from agentflow.running.queues import Queues
from agentflow.running.waker import Waker
from agentflow.store.cause import naming_damage
from agentflow.store.outcomes import Claimed, Given, Moved, Queued, Recorded, Refused, Replayed, Stopped
from agentflow.store.protocol import Store
from agentflow.store.requests import Claim, MoveHead, Owning, Settle, Stop
from agentflow.telemetry import spans
from agentflow.turn.step_runner import StepRunner

_log = logging.getLogger("agentflow.runtime")

POLL_SECS = 0.25
_CLOSE_SECS = 5.0
T = TypeVar("T")
_STOP_SECS = 5.0


def _config(agent: LoadedAgent) -> tuple[str, str]:
    return agent.config.hash, agent.config_text


class Running(NamedTuple):
    """A turn's task, and the session it has."""

    session_key: int
    runner: StepRunner
    task: asyncio.Task[TurnResult]


class RunningTurns:
    """At most one per session. `close` ends them and keeps what they have so far."""

    def __init__(
        self, store: Store, agents: Agents, feeds: Feeds, new_id: NewId, serve_queues: bool, source: DataSource
    ) -> None:
        self.cache = HistoryCache()
        self._store = store
        self._agents = agents
        self._feeds = feeds
        self._new_id = new_id
        self.names = ChatNames(store, feeds, new_id)
        self._source = source
        self._owner = Owner()
        self._turns: dict[str, Running] = {}  # by session
        self._queues = Queues(store, self.take_up)
        self._claims: set[asyncio.Task[Any]] = set()
        self._closing = False
        self._serves = serve_queues
        self._heartbeat: asyncio.Task[None] | None = None

    def get(self, session_id: str, turn_id: str) -> Running | None:
        """This turn, when it runs here. Raises `InvalidInput` in another loop than its own."""
        running = self._turns.get(session_id)
        if running is None or running.runner.turn_id != turn_id:
            return None
        if running.task.get_loop() is not asyncio.get_running_loop():
            raise another_loop()
        return running

    def left(self, session_id: str) -> Exception | None:
        """Why this process begins nothing more of what waits in the session, null as long as it does."""
        return self._queues.left(session_id)

    def interrupt(self, session_id: str, turn_id: str, reason: StopReason) -> None:
        """Ask this turn to end, when it runs here."""
        running = self.get(session_id, turn_id)
        if running is not None:
            running.runner.interrupt.request(reason)

    async def _ends(self, session_id: str, turn_id: str) -> bool:
        """Whether the turn, which somebody asked to stop, has ended within 5 s, here or in its process."""
        running = self.get(session_id, turn_id)
        if running is not None:
            running.runner.interrupt.request("stop")
            done, _ = await asyncio.wait([running.task], timeout=_STOP_SECS)
            return bool(done)
        loop = asyncio.get_running_loop()
        deadline = loop.time() + _STOP_SECS
        while (record := await self._store.session(session_id)) is not None and record.running_turn == turn_id:
            if loop.time() >= deadline:
                return False
            await asyncio.sleep(POLL_SECS / 5)
        return True

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
            lambda limits: _config(agent.with_limits(limits)),
            agent.first_call,
            self._owner.text,
            at + LEASE,
            at,
            is_alive,
            self._new_id,
            lambda given: check_inputs(agent.config.inputs, given),
            planning=agent.config.planning is not None,
            observed=agent.config.settings.observability,
            check_tools=agent.check_client_tools,
            result_chars=lambda name, tool: self._agents.result_chars(str(agent.config.path), name, tool),
        )

    async def claim(self, session_id: str, agent: LoadedAgent, claim: Claim) -> Receipt:
        """Claim a session for a request, and start what the claim began. Raises what the request is refused with."""
        return await self._to_the_end(self._claimed(session_id, agent, claim))

    async def settle(self, agent: LoadedAgent, asked: Settle) -> dict[str, Any]:
        """Give an open call its result, and start what goes on with it; as `Runtime.settle`."""
        return await self._to_the_end(self._settled(agent, asked))

    async def _to_the_end(self, work: Coroutine[Any, Any, T]) -> T:
        """In a task of its own: whoever asked may leave in between, and what was begun runs (T26)."""
        claiming = asyncio.get_running_loop().create_task(work)
        self._claims.add(claiming)
        claiming.add_done_callback(self._over)
        return await asyncio.shield(claiming)

    def _over(self, claiming: asyncio.Task[Any]) -> None:
        """Whoever asked may have left: then nobody hears what the request was refused with."""
        self._claims.discard(claiming)
        if not claiming.cancelled():
            claiming.exception()

    async def _claimed(self, session_id: str, agent: LoadedAgent, claim: Claim) -> Receipt:
        """Claim and start."""
        outcome = await self._store.claim(claim)
        if isinstance(outcome, Queued | Refused) and outcome.started is not None:
            self.start(session_id, agent, outcome.started)
        match outcome:
            case Replayed():
                return Receipt(session_id, outcome.turn_id, False, True, outcome.after_seq)
            case Given():
                return Receipt(session_id, outcome.turn_id, False, False, outcome.after_seq)
            case Recorded():
                return Receipt(session_id, "", False, False, outcome.after_seq)
            case Refused():
                raise outcome.error
            case Queued():
                if outcome.stopping is not None:
                    self.interrupt(session_id, outcome.stopping, "stop")
                if outcome.started is None or outcome.started.turn_id != outcome.turn_id:
                    self._queues.add(session_id, str(agent.config.path), outcome.turn_id)
                    self._keep_beating()
                return Receipt(session_id, outcome.turn_id, True, outcome.replayed, outcome.after_seq)
            case Claimed():
                self.start(session_id, agent, outcome, asked_here=True)
                return Receipt(session_id, outcome.turn_id, False, False, outcome.seq - len(outcome.log))

    async def _settled(self, agent: LoadedAgent, asked: Settle) -> dict[str, Any]:
        session_id, settled = asked.session_id, await self._store.settle(asked)
        if settled.started is not None:
            self.start(session_id, agent, settled.started, asked_here=True)
        if settled.expired is not None:
            raise settled.expired
        self.settled(session_id, settled.turn_id)
        return {"session_id": session_id, "turn_id": settled.turn_id, "outcome": settled.outcome}

    async def stop(self, session_id: str, turn_id: str | None, *, drain: bool) -> dict[str, Any]:
        """Stop the running or paused turn; as `Runtime.stop`."""
        stopped = await self._stop(session_id, turn_id, drain=drain)
        outcome = "stopped" if stopped.ended else "nothing_to_stop"
        if stopped.requested and stopped.turn_id is not None:
            outcome = "requested"
            if await self._ends(session_id, stopped.turn_id):
                outcome = "stopped"
                await self._stop(session_id, stopped.turn_id)  # it may have paused unheard
        return {"session_id": session_id, "turn_id": stopped.turn_id, "outcome": outcome}

    async def _stop(self, session_id: str, turn_id: str | None, *, drain: bool = False) -> Stopped:
        waker = self.waker()
        asked = Stop(session_id, turn_id, drain, clock.instant(), is_alive, self._new_id, waker.owning)
        return waker.started(session_id, await self._store.stop(asked))

    async def move_head(
        self,
        session_id: str,
        message_id: str,
        turn_id: str | None = None,
        user: str | None = None,
        if_head: str | None = None,
    ) -> Moved:
        """Move a session's head, and start what waited for it; as `Runtime.checkout`."""
        waker, at, expected = self.waker(), clock.instant(), arguments.expected(user, if_head)
        asked = MoveHead(session_id, message_id, at, is_alive, self._new_id, turn_id, waker.owning, *expected)
        return waker.started(session_id, await self._store.move_head(asked))

    def waker(self) -> Waker:
        """For a request that may end a pause (C24)."""
        return Waker(self._agents.of_session, self.owning, self.start, serves=self._serves and not self._closing)

    def start(self, session_id: str, agent: LoadedAgent, claimed: Claimed, *, asked_here: bool = False) -> None:
        """Run a claimed turn in a task of its own, after its claim has been told.

        `agent` is as its files say; what the turn's request limits holds for this turn alone (C8). `asked_here`: who
        is served just now asked for this very turn, which is then told as a part of theirs.
        """
        feed = self._feeds.start(session_id)
        feed.elsewhere = self._store.notices.begin(claimed.key, feed.so_far)
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
                following[0] = self.load(str(agent.config.path))
            except AgentflowError as error:  # gone meanwhile: those who wait are still answered
                _log.warning("the next turn runs with the configuration of the last one: %s", error)
            return self.owning(following[0])

        limited = agent.with_limits(claimed.options.limits).with_client_tools(claimed.options.tools)
        runner = StepRunner(
            self._store,
            self.cache,
            feed,
            limited,
            claimed,
            session_id,
            self._new_id,
            next_owning,
            self.load,
            self._source,
        )
        loop = asyncio.get_running_loop()
        task = loop.create_task(
            self._run(session_id, agent, runner, following),
            name=f"agentflow turn {claimed.turn_id}",
            context=None if asked_here else spans.apart(),
        )
        self._turns[session_id] = Running(claimed.key, runner, task)
        task.add_done_callback(lambda ended: self._ended(session_id, claimed.turn_id, ended))
        self._queues.started(session_id, claimed.turn_id)
        self._keep_beating()

    def _keep_beating(self) -> None:
        if self._heartbeat is None or self._heartbeat.done():
            self._heartbeat = asyncio.get_running_loop().create_task(self._beat(), context=spans.apart())

    async def take_up(self, session_id: str, reference: str, turn_ids: Collection[str] | None = None) -> bool:
        """Start the first turn that waits, or only one of these; whether it could be started here (C21).

        Raises `AgentNotFound`, `InvalidConfig`.
        """
        if self._closing:
            return False
        agent = self.load(reference)
        claimed = await self._store.take_up(session_id, self.owning(agent), turn_ids)
        if claimed is not None:
            self.start(session_id, agent, claimed)
        return claimed is not None

    async def take_up_left(self) -> None:
        """Start the first waiting turn of every queue that nobody serves; the others follow by themselves (C21)."""
        for session_id, name in await self._store.left_queues():
            try:
                async with naming_damage(self._store, session_id):
                    await self.take_up(session_id, str(self._agents.of_session(name).config.path))
            except (AgentNotFound, InvalidConfig, StoreError) as error:
                _log.warning("the queue of session %s stays as it is: %s", session_id, error)

    async def run_queue(self, session_id: str, reference: str) -> list[TurnResult]:
        """Run what waits in a session, one turn after the other, until nothing waits or one does not go through."""
        results: list[TurnResult] = []
        while session_id in self._turns or await self.take_up(session_id, reference):
            results.append(await asyncio.shield(self._turns[session_id].task))
            if results[-1].aborted:
                break
        return results

    def load(self, reference: str) -> LoadedAgent:
        """The agent of a name or path as its files are now. Raises `AgentNotFound`, `InvalidConfig`."""
        return self._agents.load(reference)

    async def _run(
        self, session_id: str, agent: LoadedAgent, runner: StepRunner, following: list[LoadedAgent]
    ) -> TurnResult:
        outcome = await runner.run()
        if outcome.started is not None:
            self.start(session_id, following[0], outcome.started)
        if outcome.opening is not None:
            self.names.begin(agent, outcome.opening)
        return outcome.result

    def _ended(self, session_id: str, turn_id: str, task: asyncio.Task[TurnResult]) -> None:
        """Also for a task that was cancelled before it began. A failure is told to whoever waits, and to the log."""
        if task.cancelled() or task.exception() is not None:
            self._owner.lost(turn_id)
            if not task.cancelled():
                _log.error("%s ended without a result: %s", task.get_name(), task.exception())
        running = self._turns.get(session_id)
        if running is not None and running.task is task:  # the next turn may have begun, and even ended
            del self._turns[session_id]
            self._store.notices.end(running.session_key)
            self._feeds.stop(session_id)

    async def _beat(self) -> None:
        """While turns run or wait: renew leases (T27), hear of stops asked for elsewhere (T23), serve queues (C21)."""
        renewed = clock.instant()
        while self._turns or self._queues:
            await asyncio.sleep(POLL_SECS)
            keys = [running.session_key for running in self._turns.values()]
            try:
                await self._queues.serve(self._turns)
                asked = await self._store.stops(keys)
                for running in self._turns.values():
                    if (running.session_key, running.runner.turn_id) in asked:
                        running.runner.interrupt.request("stop")
                if not 0 <= (at := clock.instant()) - renewed < RENEW:  # also when the clock was put back
                    await self._store.renew(keys, self._owner.text, at + LEASE)
                    renewed = at
            except StoreError as error:
                _log.warning("the database is away, leases and queues wait for it: %s", error)

    async def end(self, within: float) -> None:
        """End what runs here, after as many seconds, as given up by this process; queues stay as they are (C21)."""
        self._closing = True
        loop = asyncio.get_running_loop()
        deadline = loop.time() + within
        while tasks := [running.task for running in self._turns.values()]:
            if not (await asyncio.wait(tasks, timeout=max(deadline - loop.time(), 0.0)))[0]:
                break
        self.names.drop()
        await self._end_turns()

    async def _end_turns(self) -> None:
        self._closing = True
        tasks = [running.task for running in self._turns.values()]
        for running in self._turns.values():
            running.runner.interrupt.request("closing")
        if tasks:
            await asyncio.wait(tasks, timeout=_CLOSE_SECS)

    async def close(self) -> None:
        if self._claims:
            await asyncio.wait(self._claims)
        await self._end_turns()
        await self.names.finish()
        if self._heartbeat is not None:
            self._heartbeat.cancel()
        self._owner.close()
