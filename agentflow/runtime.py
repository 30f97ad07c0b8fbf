"""The façade: open a project, submit, stream, wait, read. The only place that picks adapters.

A `Runtime` belongs to the process and the event loop it is first used in; elsewhere it says so. Turns run as tasks
of their own: whoever submitted one may leave, and the turn goes on (T26).
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from agentflow import clock
from agentflow.agents.catalog import Catalog
from agentflow.agents.data_source import AnswerTool, Captured, DataSource, StandIn
from agentflow.agents.loaded_agent import LoadedAgent
from agentflow.agents.loading import Agents, OpenModel
from agentflow.agents.project_folder import open_project
from agentflow.bounds.beside import beside
from agentflow.clock import NewId
from agentflow.config.inputs import parse_assignments
from agentflow.config.places import database_url
from agentflow.conversation import arguments
from agentflow.conversation.inbox import HeadMove, Input, parse_input
from agentflow.conversation.pauses.answers import Answers
from agentflow.conversation.pauses.awaited import QUESTIONS
from agentflow.conversation.wire import json_object, refuse
from agentflow.errors import AgentNotFound, InvalidInput, NoPendingQuestion, no_session
from agentflow.events import Event
from agentflow.live.event_feed import Feeds
from agentflow.live.owner import is_alive
from agentflow.reading.explain import explain
from agentflow.reading.pages import SessionPage, asked_by
from agentflow.reading.reader import SessionReader
from agentflow.records.book import Records
from agentflow.records.repeats import Repeats
from agentflow.result import Receipt, TurnResult
from agentflow.running.results import result_of
from agentflow.running.turns import RunningTurns
from agentflow.secrets.logs import guard_logs
from agentflow.store.cause import cause_of, names_damage
from agentflow.store.protocol import Store
from agentflow.store.requests import Claim, Settle
from agentflow.tools.results import refused, settled

_log = logging.getLogger("agentflow.runtime")


@names_damage
class Runtime:
    """A project's sessions, open for work. Make one with `Runtime.open`, as an async context manager.

    `records` has what is kept beside their turns: feedback, names, snapshots, retention; `catalog` the agents,
    `repeats` the answers to requests that may be sent again.
    """

    def __init__(
        self, store: Store, agents: Agents, new_id: NewId, source: DataSource, drain: bool, serve_queues: bool
    ) -> None:
        self._store, self._agents = store, agents
        self._new_id, self._source = new_id, source
        self._drains = drain
        feeds = Feeds()
        self._turns = RunningTurns(store, agents, feeds, new_id, serve_queues, source)
        self._reader = SessionReader(store, feeds)
        self.records = Records(store, feeds, agents.files, new_id)
        self.catalog, self.repeats = Catalog(agents), Repeats(store.ledger)

    @classmethod
    def open(
        cls,
        project: str | Path = ".",
        *,
        db: str | None = None,
        on_commit: Callable[[int], None] | None = None,
        new_id: NewId = clock.uuid7,
        flows: Sequence[Callable[..., Any]] = (),
        open_model: OpenModel | None = None,
        drain: bool = False,
        serve_queues: bool = True,
        read_only: bool = False,
        trusted: bool = True,
        snapshots: Captured | None = None,
        stand_in: StandIn | None = None,
        answer_tool: AnswerTool | None = None,
    ) -> Self:
        """Open a project folder.

        `db` is a database URL or a file; otherwise `$AGENTFLOW_DB`, the project's `agentflow.yaml`, or a file of its
        own. `on_commit(n)` is called after the n-th commit, the door for crash tests. `flows` are Python functions
        that agents may name besides those in `workflows/`; `open_model(interface, folder)` may give a model of your
        own, or null for the usual one. With `drain` the queues that were left behind go on when the runtime is entered
        (C21); without `serve_queues` a turn that ends here leaves the next one to others, as a process must that is
        about to end. With `read_only` nothing is made or changed, no file either. Unless it is `trusted`, the file of a
        project elsewhere names no host as its database (Z4). With `snapshots`, data by `(entity, key)` in place of what
        flows load, it runs in `evaluation`; so it does with a `stand_in`, which acts in place of tools and workers
        (R9). `answer_tool(name, arguments)` may give `{"result": ...}` or `{"error": ...}` for a call in place of its
        flow. Raises `InvalidConfig`, `InvalidInput`, `StoreError`.
        """
        from agentflow.store.sql_store import SqlStore

        guard_logs()
        root, loader = open_project(project)
        url = database_url(root, loader.project.db, db, read_only=read_only, trusted=trusted)
        store = SqlStore.open(url, on_commit, read_only=read_only)
        agents = Agents(loader, root, flows, open_model, url)
        source = DataSource.of(loader.project.keys.environment, agents.flow, snapshots, stand_in, answer_tool)
        return cls(store, agents, new_id, source, drain, serve_queues)

    @staticmethod
    def upgrade(project: str | Path = ".", *, db: str | None = None) -> tuple[str, str]:
        """Bring the database `open` would use to this version (R1); the versions before, `""` for new, and after."""
        from agentflow.store.sql.schema import upgrade

        root, loader = open_project(project)
        return upgrade(database_url(root, loader.project.db, db))

    async def __aenter__(self) -> Self:
        if self._drains:
            await self.take_up_queues()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """End what runs here, keeping what it has so far; names have 10 s yet (R7); queues stay as they are (C21)."""
        try:
            await self._turns.close()
        finally:  # who waits for a name may be interrupted
            await self._agents.close()
            await self._store.close()

    async def end_turns(self, within: float = 0.0) -> None:
        """Start no more turns here; those that run may end by themselves `within` seconds, then they end as given up,
        not as stopped; reading goes on (T24).
        """
        await self._turns.end(within)

    async def take_up_queues(self) -> None:
        """Start the first waiting turn of every queue that nobody serves; the others follow by themselves (C21)."""
        await self._turns.take_up_left()

    # -- working ---------------------------------------------------------------------------------------------------

    async def submit(
        self,
        session_id: str,
        given: Mapping[str, Any] | Input,
        *,
        agent: str | None = None,
        limits: Mapping[str, Any] | None = None,
        owner: str | None = None,
        if_head: str | None = None,
        roles: Collection[str] | None = None,
    ) -> Receipt:
        """Hand in a client input; returns once its turn is recorded, before it has run.

        The input's `agent_id` is a name, for clients choose no files (Z2); `agent`, a name or a path, is for the code
        that calls, and goes before it. `limits` overrides the agent's limits for this turn. `owner` is the user it is
        for: the first one owns the session, to others it is not there. `if_head` is the message the path has to end
        in, `""` for an empty one; new messages have one of the `roles`, null for any. Raises `InvalidInput`,
        `AgentNotFound`, `InvalidConfig`, `SessionAgentMismatch`, `HeadMoved`, `TurnAlreadyActive` (C18, C19): then
        nothing was written. A `head.move` runs no turn, its receipt has the turn id `""`.
        """
        request = await beside(parse_input, given)
        arguments.session_id(session_id)
        if isinstance(request, HeadMove):
            moved = await self._turns.move_head(session_id, request.message_id, request.turn_id, owner, if_head)
            return Receipt(session_id, moved.turn_id, False, moved.replayed, moved.after_seq)
        if limits is not None:
            more = json_object(arguments.mapping(limits, "limits"), "limits", 2)
            request = replace(request, limits=request.limits | more)
        if if_head is not None and (getattr(request, "queue", False) or getattr(request, "interrupt", False)):
            refuse("if_head", "says which reply is answered; with queue or interrupt there is another one by then.")
        loaded = await self._agent(session_id, request.agent_id, agent)
        turn_id, owning = request.turn_id or self._new_id(), self._turns.owning(loaded)
        named, environment = request.turn_id is not None, self._source.environment
        claim = Claim(
            session_id, request, turn_id, named, owning, environment, *arguments.expected(owner, if_head), roles
        )
        return await self._turns.claim(session_id, loaded, claim)

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
        """One user message to an agent, a name or a path, and its turn's result when it has ended.

        Raises what `submit` raises.
        """
        message = {"role": "user", "content": text}
        given = {"type": "client.message", "message": message, "inputs": inputs, "turn_id": turn_id}
        receipt = await self.submit(session_id, given, agent=arguments.text(agent, "agent"), limits=limits)
        return await self.result(session_id, receipt.turn_id)

    async def answer(
        self,
        session_id: str,
        *,
        tool_call_id: str | None = None,
        answers: Answers | None = None,
        text: str | None = None,
        turn_id: str | None = None,
    ) -> Receipt:
        """Answer the pending question of the active path, by header (`answers`) or as one `text` (T19).

        A blank answer is one too. The same turn goes on in a new step. Raises `NoPendingQuestion`,
        `QuestionAlreadyAnswered`, `QuestionExpired`, `InvalidInput`.
        """
        if (answers is None) == (text is None):
            raise InvalidInput("Give an answer, either answers or text.", detail={"field": "answers"})
        if tool_call_id is None:
            pending = (await self._reader.record(session_id)).pending
            if pending is None or pending.awaited.kind != QUESTIONS:
                waits = "for results of its client's tools, which settle gives" if pending else "for no answer"
                raise NoPendingQuestion(f"Session {session_id!r} waits {waits}.", detail={"session_id": session_id})
            tool_call_id = pending.awaited.call_id
        said = answers if text is None else text
        given = {"type": "ask_user.answer", "tool_call_id": tool_call_id, "answers": said}
        return await self.submit(session_id, {**given, "turn_id": turn_id})

    async def stop(self, session_id: str, turn_id: str | None = None, *, drain: bool = False) -> dict[str, Any]:
        """Stop the running turn, or the one that waits for an answer; `drain` empties the queue too (T23-T25, C24).

        Returns `{session_id, turn_id, outcome}`: `stopped` once the turn has ended, `requested` when its process has
        not ended it within 5 s, `nothing_to_stop`. With `turn_id` no other turn is ever stopped.
        """
        named = arguments.optional_text(turn_id, "turn_id")
        return await self._turns.stop(arguments.session_id(session_id), named, drain=drain)

    async def settle(
        self, session_id: str, call_id: str, *, result: Any = None, error: str | None = None
    ) -> dict[str, Any]:
        """Give a call that was left open its result, or the error it failed with: of a tool with `handler: worker`
        (C33), or of one that the client performs, whose turn goes on once all are there (C39).

        Returns `{session_id, turn_id, outcome}`: `settled`, `replayed` for the result it has already, or `ignored` for
        a call that is closed or whose place left the path (C20). Raises `SessionNotFound`, `CallNotFound`,
        `CallAlreadyAnswered`, `QuestionExpired`, `TurnAlreadyActive` while other calls of the reply run, and
        `InvalidInput` for a call that is not left open here and for a result that is no JSON or too much (Z3).
        """
        arguments.text(call_id, "call_id")
        agent = self._agents.of_session((await self._reader.record(session_id)).agent)
        tools = self._agents.worker_tools(str(agent.config.path))
        if error is None:
            given = await beside(settled, result)
        else:
            given = refused(arguments.text(error, "error"), "tool_failed")
        asked = Settle(session_id, call_id, given.ok, given.text, tools, self._turns.owning(agent))
        return await self._turns.settle(agent, asked)

    async def checkout(self, session_id: str, message_id: str, *, if_head: str | None = None) -> dict[str, Any]:
        """Move the head exactly to a message, whichever branch it is on; no turn runs (C2, C20).

        Returns `{session_id, head_id, moved}`. `if_head` is as in `submit`. Raises `SessionNotFound`,
        `MessageNotFound`, `HeadMoved`, `TurnAlreadyActive`.
        """
        named = arguments.text(message_id, "message_id")
        moved = await self._turns.move_head(arguments.session_id(session_id), named, if_head=if_head)
        return {"session_id": session_id, "head_id": moved.head_id, "moved": moved.moved}

    async def result(self, session_id: str, turn_id: str, *, timeout: float | None = None) -> TurnResult:  # noqa: ASYNC109  # an error that says how to go on
        """The result of a turn, waiting while it waits or runs, here or elsewhere.

        It only reads: a turn that waits begins in a process that was asked to run it (C21). Raises `SessionNotFound`,
        `TurnNotFound`, `ResultTimeout` after `timeout` seconds (the turn goes on then), and what keeps a waiting turn
        from beginning, such as the `StoreError` of a damaged queue.
        """
        return await result_of(self._turns, self._reader, session_id, turn_id, timeout)

    async def run_queue(self, session_id: str) -> list[TurnResult]:
        """Run the turns that wait in a session, in order, until none waits, one asks or is stopped (C24)."""
        agent = self._agents.of_session((await self._reader.record(session_id)).agent)
        return await self._turns.run_queue(session_id, str(agent.config.path))

    def events(
        self, session_id: str, after_seq: int = 0, turn_id: str | None = None, *, follow: bool = False
    ) -> AsyncIterator[Event]:
        """The session's events after `after_seq`, in order: the log, then live (T42).

        With `turn_id` they end at that turn's last `done` when it is not running, else at the next one; without, at
        the end of the log, or never with `follow`. Raises `SessionNotFound`, `TurnNotFound`, `InvalidInput`.
        """
        return self._reader.events(session_id, after_seq, turn_id, follow=follow)

    async def status(self, session_id: str, *, owner: str | None = None) -> dict[str, Any]:
        """Where a session stands, and what waits in it (T3, T21, C38).

        `{session_id, agent_id, name, status, turn_id, pending, pending_kind, question, questions, tool_call_id,
        calls, expires_at, queued, queue, open_calls, todos, seq, log_id}`. `queue` are the turns that wait,
        `[{turn_id, kind, texts}]`; `open_calls` those whose results come from outside, `[{id, name, arguments,
        handler}]`; `todos` are what clients were last told (T32), `seq` numbers the last event, `log_id` is the log's.
        """
        return await self._reader.status(session_id, arguments.optional_text(owner, "owner"))

    async def session(self, session_id: str, *, all: bool = False) -> dict[str, Any]:  # the spec's word
        """The status with `state` (the agent's) and `messages` (the path), steps, executions, times and totals.

        `summary_id` and `previous_head_id` name the compaction the path begins with; with `all` the messages it left
        out are there in its place (X20).
        """
        return await self._reader.session(session_id, whole=all)

    async def sessions(
        self,
        *,
        agent: str | None = None,
        search: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
        owner: str | None = None,
    ) -> SessionPage:
        """The most recently used first, of one `agent` (a name or a path) or all, of one `owner` or all, with `search`
        in their names, as `{session_id, agent_id, ...}`; the page says how many `more` there are, and has the `cursor`
        that gives them.
        """
        name = None if agent is None else self._agents.name_of(arguments.text(agent, "agent"))
        return await self._reader.sessions(asked_by(cursor, name, search, limit, owner))

    async def turn(self, session_id: str, turn_id: str) -> dict[str, Any]:
        """A turn, by any of its names: `{session_id, turn_id, number, state, after_seq, result}`.

        `state` is `queued`, `running` or the turn's; `result` is null until it stands still, `after_seq` what the log
        had before it, null while it waits. Raises `SessionNotFound`, `TurnNotFound`.
        """
        return await self._reader.turn(session_id, turn_id)

    async def trace(self, session_id: str, turn: int | str | None = None) -> dict[str, Any]:
        """What a turn did, in order: `{turn, turn_id, state, tokens, cost, plan, todos, steps: [{nodes}]}` (R6).

        `turn` is its number in the session or an id of it, the newest for null. Raises `SessionNotFound`,
        `TurnNotFound`.
        """
        return await self._reader.trace(session_id, turn)

    async def tree(self, session_id: str) -> dict[str, Any]:
        """`{head_id, nodes: [{message, parent_id, copied_from, turn_id}], compactions}` (C5).

        A compaction is `{summary_id, kept, copied, tokens_before, tokens_after, head_id, previous_head_id}` (X21).
        """
        return await self._reader.tree(session_id)

    def read_inputs(self, agent: str, assignments: Iterable[str]) -> dict[str, Any]:
        """Agent inputs from `KEY=VALUE` texts, converted by the types the agent declares. Raises `InvalidInput`."""
        return parse_assignments(self._agents.load(agent).config.inputs, assignments)

    async def explain(
        self, agent: str, session_id: str | None = None, *, inputs: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """The exact next request of an agent, or of a session of it, and its parts with sizes; no call is made.

        `{agent_id, session_id, model, messages, tools, sections: [{name, chars, tokens}], chars, tokens}`.
        """
        loaded = self._agents.load(arguments.text(agent, "agent"))
        record = None if session_id is None else await self._reader.record(session_id)
        return await explain(
            self._store, loaded, record, session_id or self._new_id(), arguments.mapping(inputs, "inputs")
        )

    async def delete(self, session_id: str) -> None:
        """Erase a session and every row of it (R12). Raises `SessionNotFound`, `TurnAlreadyActive`."""
        if not await self._store.delete(arguments.session_id(session_id), is_alive):
            raise no_session(session_id)
        self._turns.cache.forget(session_id)

    async def cause_of(self, error: Exception, session_id: str | None = None) -> Exception:
        """For an error that nothing explains: the `StoreError` that names a damaged row of the session, or of any for
        null; the error itself where every row is as it must be (Z1). What this class raises has been looked at.
        """
        return await cause_of(error, self._store, session_id)

    async def _agent(self, session_id: str, name: str | None, reference: str | None) -> LoadedAgent:
        """The agent that the calling code chose, else the one the client names, else the session's."""
        if reference is not None:
            return self._agents.chosen(arguments.text(reference, "agent"))
        if name is not None:
            try:
                return self._agents.named(name)
            except AgentNotFound as error:
                raise AgentNotFound(error.message, detail={**error.detail, "field": "agent_id"}) from None
        record = await self._store.session(session_id)
        if record is None:
            raise InvalidInput(f"Session {session_id!r} is new: name its agent with agent_id.")
        return self._agents.of_session(record.agent)
