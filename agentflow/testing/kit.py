"""The kit a test works with: synchronous, and nothing runs between its calls."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import agentflow
from agentflow import Event, ModelRequest, Receipt, Runtime, TurnResult
from agentflow.testing import network
from agentflow.testing.agents.scripts import Replies
from agentflow.testing.agents.stubs import Stubs
from agentflow.testing.agents.under_test import AgentsUnderTest, Named
from agentflow.testing.frozen import FrozenClock
from agentflow.testing.loop import KitLoop
from agentflow.testing.passing import PassingTime
from agentflow.testing.reading import SESSION, KitReading
from agentflow.testing.stalls import StallMeter

T = TypeVar("T")

_ALL = 1_000_000
STALL_LIMIT = 0.5
"""Seconds. Ten times what one session's input may take (Z3): a slow machine must not fail a test."""


class ProcessKilled(Exception):
    """The process under test died where the test wanted it to; `kit.reopen()` starts the next one."""


class Kit(KitReading, PassingTime):
    """A runtime on a temporary project, in the hand of one test.

    Agents are written with `agent`, their models answer from scripts; everything else is the real thing. Time stands
    still at the start of 2030 and moves by `advance`; ids are `id-0001` and so on. The event loop runs only inside a
    call: after `submit` a turn stands where it is until the next call lets it go on. `runtime` is the `Runtime`
    itself, for what has no method here, as in `kit.run(kit.runtime.sessions())`. `commits` are those of this process,
    `all_commits` those of all processes of the test. `stalls` is the meter that fails the
    test when one callback held the event loop for too long; `kit.stalls.limit` is in seconds (Z3).
    """

    def __init__(self, project: Path, db: str, clock: FrozenClock) -> None:
        self.project = project
        self.commits = self.all_commits = 0
        self._agents = AgentsUnderTest(project)
        self._stubs = Stubs()
        self.requests = self._agents.requests
        self.stalls = StallMeter(STALL_LIMIT)
        self._db = db
        self.clock = clock
        self._ids = itertools.count(1)
        self._loop = KitLoop()
        self._runtime: Runtime | None = None
        self._others: list[Runtime] = []
        self._agent = ""
        self._sessions: set[str] = set()
        self._dies_at = 0
        self._is_killed = self._was_killed = False

    # -- setting up ------------------------------------------------------------------------------------------------

    def agent(
        self,
        name: str = "test",
        *,
        tools: Sequence[Named] = (),
        hooks: Mapping[str, Sequence[Named]] | None = None,
        replies: Replies = (),
        prompt: str = "You are under test.",
        settings: Mapping[str, Any] | None = None,
        model: Any = None,
        worker: Callable[[dict[str, Any]], Any] | str | None = None,
        **keys: Any,
    ) -> Path:
        """Write an agent.yaml, over an earlier one of this name; new sessions are this agent's from now on.

        An agent with `sub_agents` is written after them; each answers from its own replies. `tools`, and `hooks` by
        their point, are Python functions, names of flows, or entries of agent.yaml whose `flow` may be a function.
        `replies` are those of a scripted model, dicts or functions of the request, or one function for all of them;
        `model` is a model of your own instead, or an interface of agent.yaml that is called as it says, on loopback.
        `worker` is a function of the request that gives the answer, sync or async, or what agent.yaml may say.
        `keys` are any other keys of agent.yaml. Chats are not named unless `settings` say `name_chats`. Returns the
        file.
        """
        path = self._agents.write(
            name, model=model, replies=replies, worker=worker, prompt=prompt, tools=tools, hooks=hooks,
            settings={"name_chats": False, **(settings or {})}, **keys,
        )  # fmt: skip
        self._put_under_test(name)
        return path

    def load(self, project: str | Path, agent: str) -> Path:
        """Put an agent of a project under test as its files are; new sessions are this agent's from now on.

        The project's agents, workflows and agentflow.yaml are copied. `script` gives the agent replies in place of
        the model its file names. Returns the copy of its file.
        """
        self._agents.copy(Path(project))
        self._put_under_test(agent)
        return self._agents.folder(agent) / "agent.yaml"

    def script(self, replies: Replies, *, agent: str | None = None) -> None:
        """From now on the agent's model answers with these; what an earlier script still had counts as left over."""
        self._agents.script(replies, agent or self._agent)
        self._put_under_test(self._agent)

    def stub(
        self, tool: str, result: Any = None, *, error: str | None = None, when: Mapping[str, Any] | None = None
    ) -> None:
        """From now on calls of this tool with these arguments, others may be there besides, get a result or an error.

        Its flow is not run. Stubs that fit a call answer one after the other, the last for good.
        """
        self._stubs.add(tool, when or {}, {"result": result} if error is None else {"error": error})

    def hold(self) -> None:
        """From now on scripted models say nothing until `release`: turns that are begun go on running."""
        self._agents.gate.shut()

    def release(self) -> None:
        """Let them speak."""
        self._agents.gate.open()

    def mark(self) -> Callable[[], None]:
        """What models and tools have yet to say; calling it goes back to that, as for a second try after a crash."""
        scripts, stubs = self._agents.mark(), self._stubs.mark()

        def go_back() -> None:
            scripts()
            stubs()

        return go_back

    def replay(self, recording: str | Path) -> None:
        """From now on models that no test gave answer from a recording of `run --record`; each reply must be used."""
        self._agents.replay(Path(recording))
        self._put_under_test(self._agent)

    def requests_of(self, agent: str) -> list[ModelRequest]:
        """What the model of this agent was asked, in order; `requests` has those of all."""
        return self._agents.requests_of(agent)

    def _put_under_test(self, agent: str) -> None:
        self._agent = agent
        if self._agents.is_changed:
            self.restart()

    # -- talking ---------------------------------------------------------------------------------------------------

    def send(
        self,
        message: str | Mapping[str, Any],
        session: str = SESSION,
        *,
        limits: Mapping[str, Any] | None = None,
        **fields: Any,
    ) -> TurnResult:
        """Send one user message, a text or a message dict, and let its turn run to the end of its step.

        `fields` are other fields of the input (`inputs`, `turn_id`, `client`, `interrupt`, `agent_id`). Raises what
        `Runtime.submit` raises.
        """
        told = {"role": "user", "content": message} if isinstance(message, str) else dict(message)
        return self.deliver({"type": "client.message", "message": told, **fields}, session, limits=limits)

    def deliver(
        self, given: Mapping[str, Any], session: str = SESSION, *, limits: Mapping[str, Any] | None = None
    ) -> TurnResult:
        """Submit any input and let its turn run to the end of its step."""
        return self.result(self.submit(given, session, limits=limits).turn_id, session)

    def submit(
        self, given: Mapping[str, Any], session: str = SESSION, *, limits: Mapping[str, Any] | None = None
    ) -> Receipt:
        """Hand in any input; its turn waits for the next call of the kit."""
        receipt = self.run(self.runtime.submit(session, self.addressed(given, session), limits=limits))
        self._sessions.add(session)
        return receipt

    def addressed(self, given: Mapping[str, Any], session: str = SESSION) -> dict[str, Any]:
        """The input with the agent a new session needs, the one written last."""
        return dict(given) if session in self._sessions else {"agent_id": self._agent, **given}

    def result(self, turn_id: str, session: str = SESSION) -> TurnResult:
        """Let the turn run to the end of its step.

        Raises `NetworkRefused` also for a model that is asked nothing because there is no key for it.
        """
        result = self.run(self.runtime.result(session, turn_id))
        error = result.error or {"code": ""}
        if self._agents.has_real_models and error["code"] == "model_error.auth" and error["detail"]["status"] is None:
            raise network.NetworkRefused(f"{error['message']} {network.ADVICE}")
        return result

    def answer(
        self,
        text: str | None = None,
        session: str = SESSION,
        *,
        answers: str | Mapping[str, Any] | None = None,
        tool_call_id: str | None = None,
    ) -> TurnResult:
        """Answer the pending question, by one text or by header, and let the turn run to the end of its next step."""
        answering = self.runtime.answer(session, tool_call_id=tool_call_id, answers=answers, text=text)
        return self.result(self.run(answering).turn_id, session)

    def stop(self, session: str = SESSION, turn_id: str | None = None) -> dict[str, Any]:
        """As `Runtime.stop`: `{session_id, turn_id, outcome}`."""
        return self.run(self.runtime.stop(session, turn_id))

    def settle(
        self, result: Any = None, session: str = SESSION, *, call_id: str | None = None, error: str | None = None
    ) -> dict[str, Any]:
        """Give an open call, the first without `call_id`, its result or error: as `Runtime.settle`.

        A turn that goes on with it waits for the next call of the kit, as `until_idle`.
        """
        call_id = call_id or self.status(session)["open_calls"][0]["id"]
        return self.run(self.runtime.settle(session, call_id, result=result, error=error))

    def checkout(self, message_id: str, session: str = SESSION) -> dict[str, Any]:
        """Move the head to a message without a turn: as `Runtime.checkout`."""
        return self.run(self.runtime.checkout(session, message_id))

    def view(self, messages: Sequence[Mapping[str, Any]], session: str = SESSION) -> TurnResult:
        """Send the client's view of the conversation and let the turn run (C9-C13)."""
        return self.deliver({"type": "client.messages", "messages": list(messages)}, session)

    def edit(self, message_id: str, content: str, session: str = SESSION) -> TurnResult:
        """Say something else instead of this message of the path: a branch beside it."""
        path = self.path(session)
        at = next(index for index, message in enumerate(path) if message["id"] == message_id)
        return self.view([*path[:at], {"role": path[at]["role"], "content": content}], session)

    def regenerate(self, session: str = SESSION) -> TurnResult:
        """Have the last user message answered again, beside the reply it has."""
        path = self.path(session)
        asked = max(index for index, message in enumerate(path) if message["role"] == "user")
        return self.view(path[: asked + 1], session)

    def switch(self, message_id: str, session: str = SESSION) -> TurnResult:
        """Go to the branch that ends in this message."""
        nodes = self.tree(session)["nodes"]
        return self.view([node["message"] for node in nodes if node["message"]["id"] == message_id], session)

    def until(self, event_type: str, session: str = SESSION, *, after_seq: int = 0) -> Event:
        """Let things run until an event of this type is told, logged or streamed; that event."""

        async def first() -> Event:
            async for event in self.runtime.events(session, after_seq, follow=True):
                if event.type == event_type:
                    return event
            raise AssertionError("a followed log has no end")

        return self.run(first())

    def until_idle(self) -> None:
        """Let things run until no turn runs and none waits but behind a question."""

        async def idle() -> None:
            while any([await self._goes_on(row["session_id"]) for row in await self.runtime.sessions(limit=_ALL)]):
                pass

        self.run(idle())

    def until_named(self) -> None:
        """Let the names of chats be found that are being found: that goes on beside the turns after them (R7)."""

        async def named() -> None:
            while naming := [task for task in asyncio.all_tasks() if task.get_name().startswith("name of ")]:
                await asyncio.wait(naming)

        self.run(named())

    async def _goes_on(self, session: str) -> bool:
        """Whether something ran or began in this session; it has ended then."""
        status = await self.runtime.status(session)
        if status["status"] == "running":
            await self.runtime.result(session, status["turn_id"])
            return True
        return status["queued"] > 0 and not status["pending"] and bool(await self.runtime.run_queue(session))

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the kit's loop, as for races: `kit.run(both())`; an async test is run by this.

        Raises `NetworkRefused` when anything wanted to reach another machine meanwhile, and swallowed that it could
        not: a turn that went wrong only for that shows nothing.
        """
        if self._is_killed:
            work.close()
            raise ProcessKilled("The process was killed; call reopen() to go on in a new one.")
        network.refused.clear()
        try:
            answer = self._loop.run(work)
        except Exception:
            if not self._is_killed:
                raise
        if self._is_killed:
            self._drop()
            raise ProcessKilled(f"The process was killed right after commit {self.commits}.") from None
        if network.refused:
            raise network.refused[0]
        return answer

    # -- time, crashes, processes ----------------------------------------------------------------------------------

    @property
    def runtime(self) -> Runtime:
        """The process under test, opened when first needed."""
        if self._runtime is None:
            self._agents.is_changed = False
            self._runtime = self._open(self._committed)
        return self._runtime

    def another_runtime(self) -> Runtime:
        """A second runtime on the same database, as another process has; the kit closes it."""
        self._others.append(self._open(None))
        return self._others[-1]

    def can_run(self) -> bool:
        """Whether there is anything of this test's sessions that could be run now."""
        return bool(self._sessions) and not self._is_killed and not self._loop.is_running()

    def kill_after(self, commits: int) -> None:
        """The process dies right after it has made so many commits more: the call that meets this raises.

        `ProcessKilled` is raised and nothing of the process goes on; `reopen` starts the next one.
        """
        self._dies_at = self.commits + commits

    def kill(self) -> None:
        """The process dies where it stands. A sync tool that runs on a thread is not ended, its result is lost."""
        self._is_killed = True
        self._drop()

    def reopen(self) -> None:
        """Start a new process after a kill."""
        self._is_killed, self._was_killed = False, True
        self.commits = self._dies_at = 0

    def restart(self) -> None:
        """End the process in order; the next call starts a new one."""
        runtime, self._runtime = self._runtime, None
        if runtime is not None:
            self._loop.run(runtime.close())
        self._dies_at = max(self._dies_at - self.commits, 0)
        self.commits = 0

    def close(self) -> None:
        """End everything."""
        try:
            for runtime in self._others:
                self._loop.run(runtime.close())
            self.restart()
        finally:
            self._loop.close()
            self._agents.close()

    def leftovers(self) -> list[str]:
        """A sentence for each agent whose scripts have replies nobody asked for; after a kill they do not count."""
        return [] if self._was_killed else self._agents.leftovers()

    def _open(self, on_commit: Callable[[int], None] | None) -> Runtime:
        return agentflow.Runtime.open(
            self.project,
            db=self._db,
            on_commit=on_commit,
            new_id=lambda: f"id-{next(self._ids):04d}",
            flows=list(self._agents.flows.values()),
            open_model=self._agents.open_model,
            answer_tool=self._stubs.answer,
        )

    def _committed(self, number: int) -> None:
        self.commits = number
        self.all_commits += 1
        if number == self._dies_at:
            self._is_killed = True
            raise ProcessKilled

    def _drop(self) -> None:
        runtime, self._runtime = self._runtime, None
        if runtime is not None:
            self._loop.abandon(runtime)
