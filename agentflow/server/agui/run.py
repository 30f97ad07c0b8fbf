"""One run: what the session tells, translated, between its start and its one end (G2, G3)."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Collection, Iterable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, cast

from ag_ui.core import (
    PROTOCOL_VERSION,
    BaseEvent,
    MessagesSnapshotEvent,
    RunErrorEvent,
    RunFinishedEvent,
    RunFinishedInterruptOutcome,
    RunFinishedSuccessOutcome,
    RunStartedEvent,
    StateSnapshotEvent,
)
from ag_ui.encoder import EventEncoder

from agentflow import AgentflowError, Event, Receipt, Runtime
from agentflow.clock import uuid7
from agentflow.server.agui.ending import ended, finished, interrupt
from agentflow.server.agui.messages import theirs
from agentflow.server.agui.translator import SubRun, Translator

_log = logging.getLogger("agentflow.server")
_encode = EventEncoder().encode


def frames_of(events: Iterable[BaseEvent]) -> bytes:
    """The events on the wire."""
    return "".join(map(_encode, events)).encode()


@dataclass(frozen=True, slots=True)
class Run:
    """The names of a run, and the ids of the messages that its client has."""

    thread_id: str
    run_id: str
    view: Collection[str] = ()

    def started(self) -> RunStartedEvent:
        return RunStartedEvent(thread_id=self.thread_id, run_id=self.run_id, protocol_version=PROTOCOL_VERSION)


async def idle(run: Run) -> AsyncGenerator[bytes]:
    """A run that has nothing to do."""
    yield frames_of([run.started(), finished(run.thread_id, run.run_id)])


async def failed(run: Run, error: AgentflowError) -> AsyncGenerator[bytes]:
    """A run that fails with this error at once."""
    yield frames_of([run.started(), RunErrorEvent(message=error.message, code=error.code)])


async def told(runtime: Runtime, run: Run, receipt: Receipt) -> AsyncGenerator[bytes]:
    """The step that a request runs, from its first event to its last."""
    yield frames_of([run.started(), *await _state(runtime, run.thread_id)])
    telling = _Telling(runtime, run, Translator(run.view))
    async with aclosing(telling.step(receipt.after_seq, receipt.turn_id)) as frames:
        async for frame in frames:
            yield frame


async def connected(runtime: Runtime, run: Run) -> AsyncGenerator[bytes]:
    """The transcript as it stands, then what runs, or what is asked (G1)."""
    session = await runtime.session(run.thread_id, all=True)
    messages = session["messages"]
    opening = [run.started(), MessagesSnapshotEvent(messages=theirs(messages)), *_state_of(session)]
    if session["status"] == "running":
        seen = frozenset(message["id"] for message in messages)
        yield frames_of(opening)
        telling = _Telling(runtime, run, Translator(seen), seen_until=session["seq"])
        start = await _start_of(runtime, run.thread_id, session["turn_id"])
        async with aclosing(telling.step(start, session["turn_id"])) as frames:
            async for frame in frames:
                yield frame
        return
    outcome: Any = RunFinishedSuccessOutcome()
    if session["pending_kind"] == "questions":
        asked = {"tool_call_id": session["tool_call_id"], "questions": session["questions"]}
        outcome = RunFinishedInterruptOutcome(interrupts=[interrupt(asked, session.get("expires_at"))])
    elif session["pending"]:
        outcome = RunFinishedSuccessOutcome(pending_tool_call_ids=[each["tool_call_id"] for each in session["calls"]])
    yield frames_of([*opening, RunFinishedEvent(thread_id=run.thread_id, run_id=run.run_id, outcome=outcome)])


async def _start_of(runtime: Runtime, session_id: str, turn_id: str) -> int:
    """The number before the first event of the turn's last step."""
    start = 0
    async for event in runtime.events(session_id):
        if event.turn_id == turn_id and event.type in ("turn.started", "step.started"):
            start = (event.seq or 1) - 1
    return start


async def _state(runtime: Runtime, session_id: str) -> list[StateSnapshotEvent]:
    return _state_of(await runtime.session(session_id))


def _state_of(session: dict[str, Any]) -> list[StateSnapshotEvent]:
    """The agent's state, once it has one: an agent without never wipes its client's."""
    return [] if session["state"] is None else [StateSnapshotEvent(snapshot=session["state"])]


class _Telling:
    """Follows one step. What the log says up to `seen_until` the client knows: it is read, and not told."""

    def __init__(self, runtime: Runtime, run: Run, translator: Translator, seen_until: int = 0) -> None:
        self._runtime, self._run, self._translator = runtime, run, translator
        self._seen_until = seen_until
        self._runs: dict[int, str] = {}

    async def step(self, after_seq: int, turn_id: str) -> AsyncGenerator[bytes]:
        thread_id = self._run.thread_id
        events = cast("AsyncGenerator[Event]", self._runtime.events(thread_id, after_seq, turn_id))
        try:
            async with aclosing(events):
                async for event in events:
                    if event.type == "done":
                        yield frames_of(await self._end(event))
                        return
                    if said := await self._said(event):
                        yield frames_of(said)
        except AgentflowError as error:
            yield frames_of([*self._translator.close(), RunErrorEvent(message=error.message, code=error.code)])
        except Exception:
            number = uuid7()
            _log.exception("internal error %s", number)
            sentence = f"A fault of the server; its log has more under the id {number}."
            yield frames_of([*self._translator.close(), RunErrorEvent(message=sentence, code="internal_error")])

    async def _said(self, event: Event) -> list[BaseEvent]:
        run, begun = await self._run_of(event)
        said = [*begun, *self._translator.tell(event, run)]
        if event.seq is not None and event.seq <= self._seen_until:
            return [each for each in said if each.type in ("STEP_STARTED", "STEP_FINISHED", "SUBAGENT_STARTED")]
        if event.type == "state.updated":
            said += await _state(self._runtime, self._run.thread_id)
        return said

    async def _run_of(self, event: Event) -> tuple[str | None, list[BaseEvent]]:
        """The sub-agent's run that an event belongs to, and what tells of its beginning."""
        number = event.data.get("execution")
        if number is None or event.data.get("heard"):
            return None, []
        if number in self._runs:
            return self._runs[number], []
        trace = await self._runtime.trace(self._run.thread_id, event.turn_id)
        by_number = {each["execution"]: each for each in trace["executions"]}
        found = by_number.get(number)
        if found is None:
            return None, []
        self._runs[number] = f"{event.turn_id}-{number}"
        parent = self._runs.get(found["parent"] or 0)
        begun = SubRun(self._runs[number], found["agent"], found["parent_tool_call_id"], parent)
        return self._runs[number], list(self._translator.begin(begun))

    async def _end(self, done: Event) -> list[BaseEvent]:
        translator, run = self._translator, self._run
        said: list[BaseEvent] = [*translator.close()]
        session = await self._runtime.session(run.thread_id, all=True)
        if translator.differs:
            said.append(MessagesSnapshotEvent(messages=theirs(session["messages"])))
        return [*said, ended(run.thread_id, run.run_id, done.data, translator, session.get("expires_at"))]
