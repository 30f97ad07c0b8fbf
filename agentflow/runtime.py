"""The façade: open a project, submit, stream, wait, read. The only place that picks adapters.

A `Runtime` belongs to the event loop it was opened in. Turns run as tasks of their own: whoever submitted one may
leave, and the turn goes on (T26).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from agentflow import clock
from agentflow.clock import NewId
from agentflow.conversation.inbox import AskUserAnswer, HeadMove, Input, parse_input
from agentflow.errors import AgentflowError, InvalidInput, SessionNotFound
from agentflow.events import Event
from agentflow.loading import Agents, Flows, OpenModel
from agentflow.reading import Reader
from agentflow.store.protocol import Claim, Claimed, Replayed, Store
from agentflow.turn.cache import HistoryCache
from agentflow.turn.feed import Feeds
from agentflow.turn.loaded import LoadedAgent
from agentflow.turn.machine import Trigger, target
from agentflow.turn.owner import LEASE, RENEW_SECS, Owner, is_alive
from agentflow.turn.result import Receipt, TurnResult
from agentflow.turn.runner import TurnInput, TurnRunner
from agentflow.message import TurnState

_POLL_SECS = 0.25
_CLOSE_SECS = 5.0

_BEGIN = (TurnState.IDLE, target("", TurnState.IDLE, Trigger.BEGIN))
_REPAIR = (TurnState.RUNNING, target("", TurnState.RUNNING, Trigger.REPAIR))


class Runtime:
    """A project's sessions, open for work. Make one with `Runtime.open`, as an async context manager."""

    def __init__(self, store: Store, agents: Agents, new_id: NewId, environment: str) -> None:
        self._store = store
        self._agents = agents
        self._new_id = new_id
        self._environment = environment
        self._owner = Owner()
        self._cache = HistoryCache()
        self._feeds = Feeds()
        self._turns: dict[str, _Running] = {}
        self._heartbeat: asyncio.Task[None] | None = None
        self._reader = Reader(store, self._feeds)

    @classmethod
    def open(
        cls,
        project: str = ".",
        *,
        db: str | None = None,
        on_commit: Callable[[int], None] | None = None,
        new_id: NewId = clock.uuid7,
        flows: Flows = (),
        open_model: OpenModel | None = None,
    ) -> Self:
        """Open a project folder.

        `db` is a database URL or a file; otherwise `$AGENTFLOW_DB`, the project's `agentflow.yaml`, or a file of its
        own. `on_commit(n)` is called after the n-th commit, the door for crash tests. `flows` are Python functions
        that agents may name besides those in `workflows/`; `open_model(interface, folder)` may give a model of your
        own, or null for the usual one. Raises `InvalidConfig`, `StoreError`.
        """
        from agentflow.loading import Project
        from agentflow.store.sql_store import SqlStore

        opened = Project.find(project)
        store = SqlStore.open(opened.database(db), on_commit=on_commit)
        return cls(store, Agents(opened, flows, open_model), new_id, opened.environment)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """End what runs here, keeping what it has so far, and release everything."""
        tasks = [running.task for running in self._turns.values()]
        for running in self._turns.values():
            running.runner.interrupt.request("closing")
        if tasks:
            await asyncio.wait(tasks, timeout=_CLOSE_SECS)
        if self._heartbeat is not None:
            self._heartbeat.cancel()
        self._owner.close()
        await self._store.close()

    # -- working ---------------------------------------------------------------------------------------------------

    async def submit(
        self, session_id: str, given: Mapping[str, Any] | Input, *, limits: Mapping[str, Any] | None = None
    ) -> Receipt:
        """Hand in a client input; returns once its turn is recorded, before it has run.

        `limits` overrides the agent's limits for this turn. Raises `InvalidInput`, `AgentNotFound`, `InvalidConfig`,
        `SessionAgentMismatch`, `TurnAlreadyActive` (C18, C19): then nothing was written.
        """
        request = parse_input(given)
        if isinstance(request, HeadMove | AskUserAnswer):
            raise InvalidInput(f"{request.type} is not supported yet: send client.message or client.append.")
        _check_session_id(session_id)
        agent = await self._agent(session_id, request.agent_id, limits)
        inputs = self._agents.check_inputs(agent, request.inputs)
        turn_input = TurnInput(inputs, request.client.as_dict())
        claim = self._claim(session_id, request, agent, turn_input)
        outcome = await self._store.claim(claim)
        if isinstance(outcome, Replayed):
            return Receipt(session_id, outcome.turn_id, False, True, outcome.after_seq)
        self._start(session_id, agent, outcome, turn_input, claim.at)
        return Receipt(session_id, outcome.turn_id, False, False, outcome.seq - len(outcome.log))

    async def run(
        self,
        session_id: str,
        agent: str,
        text: str,
        *,
        inputs: Mapping[str, Any] | None = None,
        turn_id: str | None = None,
        limits: Mapping[str, Any] | None = None,
    ) -> TurnResult:
        """One user message, and its turn's result when it has ended. Raises what `submit` raises."""
        message = {"role": "user", "content": text}
        given = {"type": "client.message", "agent_id": agent, "message": message, "inputs": dict(inputs or {})}
        receipt = await self.submit(session_id, given | ({"turn_id": turn_id} if turn_id else {}), limits=limits)
        return await self.result(session_id, receipt.turn_id)

    async def result(self, session_id: str, turn_id: str) -> TurnResult:
        """The result of a turn, waiting while it runs, here or elsewhere."""
        running = self._turns.get(turn_id)
        if running is not None:
            return await asyncio.shield(running.task)
        while True:
            result = await self._reader.result(session_id, turn_id)
            if result is not None:
                return result
            await asyncio.sleep(_POLL_SECS)

    def events(
        self, session_id: str, after_seq: int = 0, turn_id: str | None = None, *, follow: bool = False
    ) -> AsyncIterator[Event]:
        """The session's events after `after_seq`, in order: the log, then live (T42).

        With `turn_id` they end at that turn's last `done` when it is not running, else at the next one; without, at
        the end of the log, or never with `follow`. Raises `SessionNotFound`, `InvalidInput`.
        """
        return self._reader.events(session_id, after_seq, turn_id, follow=follow)

    # -- reading ---------------------------------------------------------------------------------------------------

    async def status(self, session_id: str) -> dict[str, Any]:
        """`{session_id, agent_id, status, turn_id, pending, question, questions, tool_call_id, queued}` (T3, T21)."""
        return await self._reader.status(session_id)

    async def session(self, session_id: str) -> dict[str, Any]:
        """The status with `name`, `messages` (the path), times and totals."""
        return await self._reader.session(session_id)

    async def sessions(self, *, agent: str | None = None, limit: int = 50) -> list[dict[str, Any]]:
        """The most recently used first, each as `{session_id, agent_id, name, status, ...}`."""
        return await self._reader.sessions(agent=agent, limit=limit)

    async def tree(self, session_id: str) -> dict[str, Any]:
        """`{head_id, nodes: [{message, parent_id, copied_from, turn_id}]}` (C5)."""
        return await self._reader.tree(session_id)

    async def delete(self, session_id: str) -> None:
        """Erase a session and every row of it (R12). Raises `SessionNotFound`, `TurnAlreadyActive`."""
        if not await self._store.delete(session_id, is_alive):
            raise session_not_found(session_id)
        self._cache.forget(session_id)

    # -- inside ----------------------------------------------------------------------------------------------------

    async def _agent(self, session_id: str, name: str | None, limits: Mapping[str, Any] | None) -> LoadedAgent:
        if name is None:
            record = await self._store.session(session_id)
            if record is None:
                raise InvalidInput(f"Session {session_id!r} is new: name its agent with agent_id.")
            name = record.agent
        return self._agents.load(name, limits or {})

    def _claim(self, session_id: str, request: Input, agent: LoadedAgent, given: TurnInput) -> Claim:
        at = clock.instant()
        kept = {"inputs": dict(given.inputs), "client": dict(given.client)}
        return Claim(
            session_id=session_id,
            agent=agent.config.name,
            input=request,
            turn_id=request.turn_id or self._new_id(),
            turn_id_given=request.turn_id is not None,
            config=(agent.config.hash, agent.config_text),
            at=at,
            owner=self._owner.text,
            lease_until=at + LEASE,
            alive=is_alive,
            new_id=self._new_id,
            begin=_BEGIN,
            repair=_REPAIR,
            request={key: value for key, value in kept.items() if value} or None,
            call_model=agent.model.name,
            environment=self._environment,
        )

    def _start(
        self, session_id: str, agent: LoadedAgent, claimed: Claimed, given: TurnInput, at: clock.Instant
    ) -> None:
        feed = self._feeds.start(session_id)
        repaired = list(claimed.repaired)
        feed.publish(claimed.repaired_turn, at, claimed.seq - len(claimed.log), repaired)
        feed.publish(claimed.turn_id, at, claimed.seq, list(claimed.log))
        self._owner.runs(claimed.turn_id)
        runner = TurnRunner(self._store, self._cache, feed, agent, claimed, session_id, given, self._new_id)
        task = asyncio.get_running_loop().create_task(runner.run(), name=f"agentflow turn {claimed.turn_id}")
        self._turns[claimed.turn_id] = _Running(session_id, claimed.key, runner, task)
        task.add_done_callback(lambda _: self._ended(session_id, claimed.turn_id))
        if self._heartbeat is None or self._heartbeat.done():
            self._heartbeat = asyncio.get_running_loop().create_task(self._beat())

    def _ended(self, session_id: str, turn_id: str) -> None:
        running = self._turns.pop(turn_id)
        self._owner.ended(turn_id)
        self._feeds.stop(session_id)
        if not running.task.cancelled():
            running.task.exception()  # told to whoever waits for the result; nobody has to

    async def _beat(self) -> None:
        """While turns run: renew their leases (T27) and hear of stops asked for elsewhere (T23)."""
        loop = asyncio.get_running_loop()
        renewed = loop.time()
        while self._turns:
            await asyncio.sleep(_POLL_SECS)
            keys = [running.session_key for running in self._turns.values()]
            for turn_id in await self._store.stops(keys):
                if turn_id in self._turns:
                    self._turns[turn_id].runner.interrupt.request("stop")
            if loop.time() - renewed >= RENEW_SECS:
                renewed = loop.time()
                await self._store.renew(keys, self._owner.text, clock.instant() + LEASE)


class _Running:
    __slots__ = ("runner", "session_id", "session_key", "task")

    def __init__(
        self, session_id: str, session_key: int, runner: TurnRunner, task: asyncio.Task[TurnResult]
    ) -> None:
        self.session_id = session_id
        self.session_key = session_key
        self.runner = runner
        self.task = task


def session_not_found(session_id: str) -> SessionNotFound:
    return SessionNotFound(f"There is no session {session_id!r}.", detail={"session_id": session_id})


def _check_session_id(session_id: str) -> None:
    if not session_id or len(session_id) > 200 or not session_id.isprintable():
        raise InvalidInput("A session id has 1 to 200 printable characters.", detail={"session_id": session_id[:200]})


def run_turn(
    agent: str,
    text: str,
    *,
    session: str | None = None,
    project: str = ".",
    db: str | None = None,
    inputs: Mapping[str, Any] | None = None,
    limits: Mapping[str, Any] | None = None,
) -> TurnResult:
    """Run one turn from synchronous code: `run_turn("agents/support", "Where is my invoice?", session="s-1")`.

    Without `session` the turn has a session of its own. Raises what `Runtime.submit` raises.
    """

    async def turn() -> TurnResult:
        async with Runtime.open(project, db=db) as runtime:
            return await runtime.run(session or clock.uuid7(), agent, text, inputs=inputs, limits=limits)

    return asyncio.run(turn())
