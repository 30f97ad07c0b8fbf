"""Our events as those of AG-UI: one table from type to what is told of it. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

from ag_ui.core import (
    ActivitySnapshotEvent,
    BaseEvent,
    CustomEvent,
    StepFinishedEvent,
    StepStartedEvent,
    SubagentFinishedEvent,
    SubagentStartedEvent,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)

from agentflow import Event
from agentflow.server.agui.messages import text_of
from agentflow.server.agui.replies import Replies

Events = Iterator[BaseEvent]

TOLD_AS_THEY_ARE = frozenset({
    "context.limited", "context.replaced", "context.kept", "session.named", "head.moved", "history.repaired",
    "call.voided", "flow.emitted", "model.loading", "model.retrying", "worker.retrying", "hook.started",
    "hook.completed",
})  # fmt: skip
"""Types that clients get as `CUSTOM` events `agentflow.<type>`."""


@dataclass(frozen=True, slots=True)
class SubRun:
    """A sub-agent's run: its agent, and the call of its parent's run that began it."""

    id: str
    agent: str
    call_id: str | None
    parent: str | None = None


@dataclass(slots=True)
class Spent:
    """What one model used in a run."""

    input: int = 0
    output: int = 0
    cached: int = 0
    written: int = 0


@dataclass(slots=True)
class Translator:
    """Of one run; `view` are the ids of the messages that the client has. Whatever it opens it closes.

    `asked` is the question that the run ends with, `calls` those of the client's tools, `failure` the turn's error.
    """

    view: Collection[str] = ()
    replies: Replies = field(default_factory=Replies)
    spent: dict[str, Spent] = field(default_factory=dict)
    asked: dict[str, Any] | None = None
    calls: list[str] | None = None
    failure: dict[str, Any] | None = None
    _purposes: dict[str, str] = field(default_factory=dict)
    _step: str | None = None
    _runs: dict[str, SubRun] = field(default_factory=dict)  # open ones, by id
    _missing: bool = False

    @property
    def differs(self) -> bool:
        """Whether the client's transcript is another than the path (G2)."""
        return self._missing or self.replies.differs

    def begin(self, run: SubRun) -> Events:
        """A sub-agent's run begins."""
        self._runs[run.id] = run
        yield SubagentStartedEvent(
            subagent_run_id=run.id, name=run.agent, parent_subagent_run_id=run.parent, parent_tool_call_id=run.call_id
        )

    def tell(self, event: Event, run: str | None = None) -> Events:
        """What one event says; `run` is the sub-agent's run it belongs to."""
        if (say := _SAY.get(event.type)) is not None:
            yield from say(self, event, run)
        elif event.type in TOLD_AS_THEY_ARE:
            yield CustomEvent(name=f"agentflow.{event.type}", value=event.data, subagent_run_id=run)

    def close(self) -> Events:
        """End what is open, before the run ends."""
        yield from self.replies.given_up()
        for run in reversed(list(self._runs.values())):
            yield from self._end_run(run)
        yield from self._end_step()

    # -- by type ---------------------------------------------------------------------------------------------------

    def _call_requested(self, event: Event, run: str | None) -> Events:
        self._purposes[event.data["call_id"]] = event.data["purpose"]
        if run is None and event.data["purpose"] == "main":
            yield from self._end_step()
            self._step = f"iteration {event.data['iteration']}"
            yield StepStartedEvent(step_name=self._step)

    def _call_completed(self, event: Event, run: str | None) -> Events:
        usage = event.data["usage"] or {}
        spent = self.spent.setdefault(event.data["model"], Spent())
        spent.input += usage.get("input") or 0
        spent.output += usage.get("output") or 0
        spent.cached += usage.get("cache_read") or 0
        spent.written += usage.get("cache_write") or 0
        yield from ()

    def _delta(self, event: Event, run: str | None) -> Events:
        data = event.data
        if self._purposes.get(data["call_id"], "main") != "main":
            return  # the text of a summary, a plan or a title is no answer
        if "text" in data:
            yield from self.replies.text(data["call_id"], data["text"], run)
        else:
            yield from self.replies.reasoning(data["call_id"], data["reasoning"], run)

    def _message(self, event: Event, run: str | None) -> Events:
        message = event.data["message"]
        id_ = message["id"]
        if message["role"] == "assistant":
            if id_ not in self.view:
                yield from self.replies.recorded(id_, text_of(message.get("content")), run)
        elif message["role"] == "tool":
            if id_ not in self.view:
                yield ToolCallResultEvent(
                    message_id=id_, tool_call_id=message["tool_call_id"], content=text_of(message.get("content")),
                    role="tool", subagent_run_id=run,
                )  # fmt: skip
        elif run is None and id_ not in self.view and not message.get("hidden"):
            self._missing = True

    def _tool_requested(self, event: Event, run: str | None) -> Events:
        data = event.data
        yield ToolCallStartEvent(
            tool_call_id=data["id"],
            tool_call_name=data["name"],
            parent_message_id=data["reply_id"],
            subagent_run_id=run,
        )
        yield ToolCallArgsEvent(tool_call_id=data["id"], delta=data["arguments"], subagent_run_id=run)
        yield ToolCallEndEvent(tool_call_id=data["id"], subagent_run_id=run)

    def _tool_over(self, event: Event, run: str | None) -> Events:
        for each in [each for each in self._runs.values() if each.call_id == event.data["id"]]:
            yield from self._end_run(each)

    def _todos(self, event: Event, run: str | None) -> Events:
        yield ActivitySnapshotEvent(
            message_id=f"todos-{run or event.turn_id}", activity_type="todos", content={"todos": event.data["todos"]},
            replace=True, subagent_run_id=run,
        )  # fmt: skip

    def _question(self, event: Event, run: str | None) -> Events:
        self.asked = event.data
        yield from ()

    def _client_tools(self, event: Event, run: str | None) -> Events:
        self.calls = [call["tool_call_id"] for call in event.data["calls"]]
        yield from ()

    def _error(self, event: Event, run: str | None) -> Events:
        self.failure = event.data
        yield from ()

    def _replaced(self, event: Event, run: str | None) -> Events:
        self._missing = self._missing or run is None
        yield CustomEvent(name=f"agentflow.{event.type}", value=event.data, subagent_run_id=run)

    # -- inside ----------------------------------------------------------------------------------------------------

    def _end_step(self) -> Events:
        if self._step is not None:
            yield StepFinishedEvent(step_name=self._step)
            self._step = None

    def _end_run(self, run: SubRun) -> Events:
        del self._runs[run.id]
        yield SubagentFinishedEvent(subagent_run_id=run.id)


_SAY: dict[str, Callable[[Translator, Event, str | None], Events]] = {
    "llm.call.requested": Translator._call_requested,
    "llm.call.completed": Translator._call_completed,
    "llm.delta": Translator._delta,
    "message.new": Translator._message,
    "tool.call.requested": Translator._tool_requested,
    "tool.call.completed": Translator._tool_over,
    "tool.call.errored": Translator._tool_over,
    "todo": Translator._todos,
    "ask_user": Translator._question,
    "client_tools": Translator._client_tools,
    "error": Translator._error,
    "context.replaced": Translator._replaced,
    "history.repaired": Translator._replaced,
}
