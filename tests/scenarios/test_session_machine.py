"""Whatever is done to a session, in whatever order, it stays valid and goes on (T2, T28, T30, C18-C29, C36).

Each example is a random life of one session: messages, questions, answers, stops, kills, restarts, a second process,
edits, regenerations, moves of the head, queues, merges, interruptions. What must be true is checked after each step.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from freezegun import freeze_time
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from agentflow import FlowContext, ModelRequest, NoPendingQuestion, Runtime, TurnAlreadyActive
from agentflow.testing import Kit, ProcessKilled
from agentflow.testing.opening import START
from tests.scenarios.invariants import check_once, check_path, check_session, check_wire
from tests.scenarios.support import call

SESSION = "s-1"
KINDS = st.sampled_from(["say", "mark", "ask"])
QUESTIONS = [{"header": "Place", "question": "Which one?"}]


class SessionMachine(RuleBasedStateMachine):
    """`held` is the turn that waits until it is released: in its model call or in its tool."""

    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory()
        self._frozen = freeze_time(START, real_asyncio=True, ignore=["_pytest.timing"])
        folder = Path(self._folder.name)
        self.db = f"sqlite:///{folder / 'agentflow.db'}?synchronous=normal"
        self.kit = Kit(folder, self.db, self._frozen.start())
        self.marks: list[str] = []
        self.nodes: dict[str, Any] = {}
        self.checked = self.said = 0
        self.held: str | None = None
        self.holds = False
        self.gate, self.entered = asyncio.Event(), asyncio.Event()
        self.other: Runtime | None = None

    # -- the agent -------------------------------------------------------------------------------------------------

    @initialize(lean=st.booleans(), parallel=st.sampled_from([1, 4]))
    def open(self, lean: bool, parallel: int) -> None:
        async def mark(ctx: FlowContext) -> str:
            """Leave a mark."""
            self.marks.append(ctx.idempotency_key)
            return "marked"

        async def wait(ctx: FlowContext) -> str:
            """Wait until the turn is released."""
            self.marks.append(ctx.idempotency_key)
            await self._hold()
            return "waited"

        keys = {"lean_history": lean, "max_parallel_tools": parallel}
        self.kit.agent(tools=[mark, wait], replies=self._reply, settings=keys)
        self.kit.send("say 0")

    async def _reply(self, request: ModelRequest) -> dict[str, Any]:
        said = [number for number, message in enumerate(request.messages) if message["role"] == "user"]
        kind = str(request.messages[said[-1]]["content"]).partition(" ")[0] if said else ""
        asked = sum(message["role"] == "assistant" for message in request.messages[said[-1] if said else 0 :])
        if kind == "hold":
            await self._hold()
        if kind in ("mark", "ask", "wait") and asked == 0:
            last = {"mark": call("mark"), "ask": call("ask_user", questions=QUESTIONS), "wait": call("wait")}[kind]
            return {"text": "Now." if kind == "mark" else "", "tool_calls": [call("mark"), last]}
        if kind == "ask" and asked == 1:
            return {"tool_calls": [call("mark")]}
        return {"text": f"reply {asked}"}

    async def _hold(self) -> None:
        if self.holds:
            self.entered.set()
            await self.gate.wait()

    # -- steps -----------------------------------------------------------------------------------------------------

    def _message(self, kind: str, **fields: Any) -> dict[str, Any]:
        self.said += 1
        content = f"{kind} {self.said}"
        return {"type": "client.message", "message": {"role": "user", "content": content}, **fields}

    def _do(self, work: Callable[[], Any]) -> None:
        """Work that a running turn refuses (C18), leaving everything as it is; any other just works."""
        if self.held is None:
            work()
            self._settle()
            return
        before = self.kit.events()
        with pytest.raises(TurnAlreadyActive) as refused:
            work()
        assert refused.value.detail["turn_id"] == self.held
        assert self.kit.events() == before

    def _settle(self) -> None:
        """Let everything end that is not held."""
        while (status := self.kit.status())["status"] == "running" and status["turn_id"] != self.held:
            self.kit.result(status["turn_id"])

    @rule(kind=KINDS)
    def say(self, kind: str) -> None:
        """A message; the answer when the path waits for one (C26), behind a queue that was left (C21)."""
        self._do(lambda: self.kit.submit(self._message(kind)))

    @rule(kind=KINDS)
    def say_in_another_process(self, kind: str) -> None:
        if self.other is None:
            self.other = self.kit.another_runtime()
        other = self.other

        async def turn() -> None:
            receipt = await other.submit(SESSION, self._message(kind))
            await other.result(SESSION, receipt.turn_id)

        self._do(lambda: self.kit.run(turn()))

    @precondition(lambda self: self.held is None)
    @rule(kind=st.sampled_from(["hold", "wait"]))
    def hold(self, kind: str) -> None:
        """Start a turn that goes on until it is released, unless the message answers a question or has to queue."""
        status = self.kit.status()
        if status["pending"] or status["queued"]:
            return
        self.gate, self.entered, self.holds = asyncio.Event(), asyncio.Event(), True
        self.held = self.kit.submit(self._message(kind)).turn_id
        self.kit.run(self.entered.wait())

    @precondition(lambda self: self.held is not None)
    @rule()
    def release(self) -> None:
        turn_id, self.held, self.holds = self.held or "", None, False
        self.gate.set()
        assert self.kit.result(turn_id).state == "done"
        self._settle()

    @rule(kind=st.sampled_from(["say", "mark"]), queue=st.sampled_from([True, "merge"]))
    def queue(self, kind: str, queue: bool | str) -> None:
        self.kit.submit(self._message(kind, queue=queue))
        self._settle()

    @rule(kind=KINDS)
    def interrupt(self, kind: str) -> None:
        """C25: whatever runs or waits on the path is stopped, then this one starts."""
        held, self.held = self.held, None
        receipt = self.kit.submit(self._message(kind, interrupt=True))
        self.kit.result(receipt.turn_id)
        self.holds = False
        if held is not None:
            assert self.kit.result(held).state == "aborted"
        self._settle()

    @rule(old=st.booleans())
    def stop(self, old: bool) -> None:
        """T25: a turn id that is not the running one's stops nothing."""
        status = self.kit.status()
        outcome = self.kit.stop(turn_id="id-0000" if old else None)["outcome"]
        stoppable = not old and (status["turn_id"] is not None)
        assert outcome == ("stopped" if stoppable else "nothing_to_stop")
        if stoppable:
            self.held, self.holds = None, False
            assert self.kit.result(status["turn_id"]).state == "aborted"
            assert not self.kit.status()["pending"]
        self._settle()

    @rule()
    def answer(self) -> None:
        if self.kit.status()["pending"]:
            self._do(lambda: self.kit.answer("here"))
            return
        with pytest.raises(NoPendingQuestion):
            self.kit.answer("here")

    @rule(data=st.data())
    def edit(self, data: st.DataObject) -> None:
        users = [each["id"] for each in self.kit.path() if each["role"] == "user"]
        if users:
            edited = data.draw(st.sampled_from(users))
            self._do(lambda: self.kit.edit(edited, f"mark {self.said}"))

    @rule()
    def regenerate(self) -> None:
        if any(each["role"] == "user" for each in self.kit.path()):
            self._do(self.kit.regenerate)

    @rule(data=st.data())
    def move(self, data: st.DataObject) -> None:
        """C2: the head goes anywhere, into the middle of an exchange too."""
        node = data.draw(st.sampled_from(sorted(self.nodes)))
        self._do(lambda: self.kit.run(self.kit.runtime.checkout(SESSION, node)))

    @rule()
    def kill(self) -> None:
        self.kit.kill()
        self._reopen()

    @rule(kind=KINDS, commits=st.integers(1, 5))
    def kill_during(self, kind: str, commits: int) -> None:
        if self.held is not None:
            return
        self.kit.kill_after(commits)
        try:
            self.say(kind)
            self.kit.kill_after(0)
        except ProcessKilled:
            self._reopen()

    @rule()
    def restart(self) -> None:
        """C21: a runtime that closes ends its turn and leaves the queue."""
        self.kit.restart()
        self.held, self.holds = None, False

    def _reopen(self) -> None:
        self.kit.reopen()
        self.held, self.holds = None, False

    # -- what is always true ---------------------------------------------------------------------------------------

    @invariant()
    def is_valid(self) -> None:
        if not self.kit.commits and not self.nodes:
            return
        self.kit.run(check_session(self.kit.runtime, self.db, SESSION))
        check_once(self.marks)
        for request in self.kit.requests[self.checked :]:
            check_wire(request.messages)
        self.checked = len(self.kit.requests)
        nodes = {node["message"]["id"]: node for node in self.kit.tree()["nodes"]}
        assert {key: nodes.get(key) for key in self.nodes} == self.nodes, "a node changed"
        self.nodes = nodes

    def teardown(self) -> None:
        """Whatever was done, the next request just works, and what is stored is valid on every branch."""
        try:
            if self.nodes:
                self.interrupt("say")
                self.is_valid()
                self._check_branches()
        finally:
            self.kit.close()
            self._frozen.stop()
            self._folder.cleanup()

    def _check_branches(self) -> None:
        parents = {node["parent_id"] for node in self.nodes.values()}
        for leaf in self.nodes.keys() - parents:
            path, at = [], leaf
            while at is not None:
                path.insert(0, self.nodes[at]["message"])
                at = self.nodes[at]["parent_id"]
            check_path(path, None, ends_inside=_may_be_open(path))


def _may_be_open(path: list[dict[str, Any]]) -> bool:
    """Only where a question was asked, and its branch left, is an exchange without all its results."""
    asking = next((each for each in reversed(path) if each["role"] == "assistant"), {})
    return any(each["name"] == "ask_user" for each in asking.get("tool_calls", ()))


SessionMachine.TestCase.settings = settings(
    max_examples=25,
    stateful_step_count=15,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
TestWhateverIsDoneToASession = SessionMachine.TestCase
