"""One execution's half of a turn: what it stages for the next commit, and what it holds open (T11).

Staging is memory only. A commit takes all that is staged, so the rows of one moment land together or not at all,
and what is open is always known to whoever must close it (T24, T30).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from agentflow import clock, events
from agentflow.agents.loaded_agent import LoadedAgent, digest
from agentflow.context.tokens import Report
from agentflow.conversation.history import BuiltRequest, Exchange, History, build_request, exchanges, lean
from agentflow.conversation.repair import Closing, OpenCall
from agentflow.conversation.tree import Node, Place
from agentflow.errors import AgentflowError, ModelError
from agentflow.events import LogEntry
from agentflow.message import ExecutionStatus, Message, ToolCall, ToolCallStatus, Usage
from agentflow.models.assembly import Reply
from agentflow.store import rows
from agentflow.store.records import Claimed, PathEntry
from agentflow.store.requests import Owning
from agentflow.store.rows import Row, copy_row, message_row
from agentflow.text import compact_json
from agentflow.tools.results import ToolResult
from agentflow.tools.todo_items import Todo
from agentflow.turn.rules.limits import Spent, Tried
from agentflow.turn.run.in_flight import OpenStream, milliseconds_since
from agentflow.turn.run.journal import Journal


class Execution:
    """A run of an agent inside a turn: its history, its counters, its open calls, its staged rows.

    `step_texts` stand before the step's own messages in each request (X4). A sub-agent's run has a `parent` and a
    path of its own, which ends at `head` (C1); `usage` is what it and its `children` have spent. `report` is that of
    the last main call on its path (X5); `restated_todos` is the one of `step_texts` that a compaction added (T32).
    The user reads what a `heard` execution says: the main one, and whichever the turn was handed to (T34).
    `waiting_call` is the model call that is recorded as requested and has not gone out yet. `left_answer` is the answer
    of a path that was left for another one, until a model is called there.
    """

    def __init__(
        self, journal: Journal, agent: LoadedAgent, number: int, earlier: History, parent: Execution | None = None
    ) -> None:
        self.journal = journal
        self.agent = agent
        self.number = number
        self.parent = parent
        self.children: list[Execution] = []
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.heard = parent is None
        self.usage = journal.usage if parent is None else Usage()
        self.head: Place | None = None
        self.held: Exchange | None = None
        self.status = ExecutionStatus.RUNNING
        self.prompt = ""
        self.vars: Mapping[str, Any] = {}
        self.continuations = 0
        self.earlier = earlier
        self.current = History()
        self.messages: list[Message] = []
        self.left_answer: Message | None = None
        self.spent = Spent()
        self.tried = Tried()
        self.report: Report | None = None
        self.restated_todos = ""
        self.carry_over: Callable[[], None] | None = None  # writes state and config in force at the next head again
        self.step_texts: list[str] = []
        self.todos: tuple[Todo, ...] = ()
        self.todo_version = 0
        self.is_planned = False
        self.open_calls: dict[str, OpenCall] = {}
        self.open_stream: OpenStream | None = None
        self.waiting_call: str | None = None
        self.first_token_ms: int | None = None
        self.known_blobs: set[str] = set()
        self.last_message_id: str | None = None
        self.path: list[Message] | None = None  # what a worker is shown, null when it is to be read again
        self.riding: Callable[[], None] | None = None  # stages what rides on the next commit
        self.staged_rows: list[Row] = []
        self.staged_log: list[LogEntry] = []
        self._started = 0.0

    def begin(self, started: float, messages: tuple[Message, ...], head_id: str | None) -> None:
        """Take up a step: `messages` are recorded already and end the path at `head_id`."""
        self._started = started
        self.last_message_id = head_id
        self.remember(*messages)

    def take_up(self, messages: Sequence[Message]) -> None:
        """Go on from a path that may end in an exchange with an open call; that exchange is `held` back."""
        closed = list(messages)
        if closed and (last := exchanges(closed)[-1]).open:
            self.held = last
            closed = closed[: len(closed) - len(last.messages())]
        self.remember(*closed)

    def remember(self, *messages: Message) -> None:
        """Whole exchanges that the next request of this turn reads."""
        self.messages += messages
        self.current.extend(messages, model=self.agent.model.name)

    def request(self, *, with_tools: bool) -> BuiltRequest:
        tools_chars = self.agent.schemas_chars if with_tools else 0
        return build_request(self.prompt, self.earlier, self.step_texts, self.current, tools_chars)

    def fork_from(self, place: Place | None, message_id: str | None) -> None:
        """Let the next message stand beside the one that follows `place`, whose message is `message_id`."""
        self.journal.fork_from(place)
        self.last_message_id = message_id

    def replace_last(self, message: Message) -> None:
        """Read another message in place of the last one of this turn."""
        messages = [*self.messages[:-1], message]
        taken, self.current, self.messages = self.current.call_ids, History(), []
        self.remember(*messages)
        self.current.reserve(taken)

    # -- another history -------------------------------------------------------------------------------------------

    @property
    def answer(self) -> Message | None:
        """The answer of this run as it stands: the last message of its turn, if that is a reply without calls."""
        last = self.messages[-1] if self.messages else None
        return self.left_answer if last is None or last.role != "assistant" or last.tool_calls else last

    @property
    def tip(self) -> Place | None:
        """Where its path ends, null when nothing is recorded on it."""
        return self.journal.head if self.parent is None else self.head

    def leave_path(self) -> None:
        """Stand above every root: what is recorded next begins another path (X18)."""
        self.head = self.last_message_id = None
        if self.parent is None:
            self.journal.head = None
        if self.path is not None:
            self.path.clear()

    def reread(self, earlier: list[Message], current: list[Message], *, is_lean: bool) -> None:
        """Read these messages instead of the ones so far; the report of another history says nothing of them.

        Calls that are read no more keep their ids to themselves: their rows are still there (T14).
        """
        self.left_answer = self.answer
        taken, self.earlier, self.current = self.current.call_ids, History(), History()
        self.earlier.extend(lean(earlier) if is_lean else earlier)
        self.messages, self.report = [], None
        self.remember(*current)
        self.current.reserve(taken)

    # -- staging ---------------------------------------------------------------------------------------------------

    def stage(self, *staged: Row) -> None:
        self.staged_rows += staged

    def tell(self, *entries: LogEntry) -> None:
        """Stage log entries; those of a sub-agent's run say which it is."""
        is_main = self.parent is None
        self.staged_log += entries if is_main else [events.of_execution(entry, self.number) for entry in entries]

    @property
    def delta_says(self) -> dict[str, Any]:
        """Whose text a delta is: empty for the main agent's."""
        if self.parent is None:
            return {}
        return {"execution": self.number, "heard": True} if self.heard else {"execution": self.number}

    def find(self, number: int) -> Execution:
        """The run of that number, this one or one below it."""
        below = [self]
        while below:
            execution = below.pop()
            if execution.number == number:
                return execution
            below += execution.children
        raise LookupError(f"execution {number} does not run here")

    def adopt(self, child: Execution) -> None:
        """Let what a child has staged ride on this execution's next commit."""
        staged, log = child._take()
        self.staged_rows += staged
        self.staged_log += log

    def spend(self, usage: Usage) -> None:
        """Count a model call's usage once, here and wherever its sum is read (T35)."""
        self.usage += usage
        if self.parent is None:
            self.journal.usage += usage
        else:
            self.parent.spend(usage)

    def record(self, message: Message) -> None:
        """Stage a message under the tip of this execution's path."""
        place = self._next_place()
        self.stage(message_row(message, place.branch, place.depth, self.journal.turn, self.number))
        self.tell(events.message_new(message, self.last_message_id))
        self.last_message_id = message.id
        if self.path is not None:
            self.path.append(message)

    def record_copy(self, id_: str, entry: PathEntry) -> Message:
        """Stage a copy of a recorded message under the tip (X18)."""
        place, first = self._next_place(), entry.message
        node = Node(
            first.id, entry.place, first.role, (), first.tool_call_id, entry.turn, copied_from=entry.copied_from
        )
        message = replace(first, id=id_)
        self.stage(copy_row(id_, node, place.branch, place.depth, self.journal.turn, self.number))
        self.tell(events.message_new(message, self.last_message_id, node.original))
        self.last_message_id = id_
        if self.path is not None:
            self.path.append(message)
        return message

    def _next_place(self) -> Place:
        if self.parent is None:
            opened, place = self.journal.advance()
        elif self.head is None:
            opened, place = self.journal.open_root(self.number)
        else:
            opened, place = None, Place(self.head.branch, self.head.depth + 1)
        if opened is not None:
            self.stage(opened)
        self.head = place
        return place

    def request_call(self, call_id: str) -> None:
        """Stage a model call as requested."""
        self.waiting_call, self.left_answer = call_id, None
        name = self.agent.model.name
        head = (self.journal.head if self.parent is None else self.head) or (None, None)
        self.stage(
            rows.InsertLlmCall(
                call_id, self.journal.turn, self.number, self.journal.step, self.spent.iterations + 1, "main", name,
                "requested", clock.instant(), *head,
            )
        )  # fmt: skip
        self.tell(events.llm_call_requested(events.ModelCall(call_id, self.spent.iterations + 1, "main", name)))

    def opened(self, stream: OpenStream) -> None:
        self.spent.iterations += 1
        self.open_stream, self.waiting_call = stream, None

    def take_back(self, error: ModelError) -> bool:
        """A call that was refused as too long, before it showed anything, may run once more (X16): its stream closes,
        its row stays. False for any other failure.
        """
        stream = self.open_stream
        if stream is None or stream.assembler.text or stream.assembler.reasoning or error.kind != "context_overflow":
            return False
        self.open_stream, self.waiting_call = None, stream.call_id
        self.spent.iterations -= 1
        return True

    def reply_completed(self, reply: Reply, message: Message | None) -> None:
        """Stage the end of a model call and the reply's message, if it says anything."""
        stream = self._closed_stream()
        usage = reply.usage or Usage()
        self.spend(usage)
        self.report = Report(usage.input, stream.request_chars)
        self.stage(self._ended_call(stream, "completed", usage, reply.finish_reason, None))
        self.tell(events.llm_call_completed(self._told(stream), reply.finish_reason, usage))
        if message is not None:
            self.record(message)

    def reply_failed(self, error: AgentflowError, status: str) -> str:
        """Stage the end of a model call that gave no reply; returns what it had shown. Reported usage counts (X6)."""
        stream = self._closed_stream()
        usage = stream.assembler.usage or Usage()
        self.spend(usage)
        self.stage(self._ended_call(stream, status, usage, None, error))
        self.tell(events.llm_call_errored(self._told(stream), error.as_dict(), usage))
        return stream.assembler.text

    def call_given_up(self, call_id: str, error: AgentflowError) -> None:
        """Stage the end of a call that was requested and never went out."""
        self.waiting_call = None
        lost = (None,) * 12
        self.stage(rows.EndLlmCall("aborted", *lost, compact_json(error.as_dict()), None, call_id))
        told = events.ModelCall(call_id, self.spent.iterations + 1, "main", self.agent.model.name)
        self.tell(events.llm_call_errored(told, error.as_dict(), Usage()))

    def _told(self, stream: OpenStream) -> events.ModelCall:
        return events.ModelCall(stream.call_id, self.spent.iterations, stream.purpose, self.agent.model.name)

    def _closed_stream(self) -> OpenStream:
        stream, self.open_stream = self.open_stream, None
        if stream is None:
            raise RuntimeError("no model call is open")
        if self.first_token_ms is None and stream.first_token_ms is not None:
            self.first_token_ms = int((stream.started - self._started) * 1000) + stream.first_token_ms
        return stream

    def _ended_call(
        self, stream: OpenStream, status: str, usage: Usage, finish: str | None, error: AgentflowError | None
    ) -> rows.EndLlmCall:  # fmt: skip
        return rows.EndLlmCall(
            status, stream.milliseconds(), stream.first_token_ms, stream.attempts, stream.request_chars,
            self.blob(self.prompt), self.blob(self.agent.schemas_text) if stream.with_tools else None, finish,
            usage.input, usage.output, usage.cache_read, usage.cache_write,
            None if usage.cost is None else str(usage.cost),
            None if error is None else compact_json(error.as_dict()), None, stream.call_id,
        )  # fmt: skip

    def blob(self, text: str) -> str:
        """The hash of a text that is stored once a session."""
        key = self.agent.schemas_hash if text is self.agent.schemas_text else digest(text)
        if key not in self.known_blobs:
            self.known_blobs.add(key)
            self.stage(rows.InsertBlob(key, text))
        return key

    # -- tool calls ------------------------------------------------------------------------------------------------

    def call_requested(self, call: ToolCall, reply_id: str, *, started: bool) -> None:
        """Stage a call of the reply: started in this very commit, or planned (T11)."""
        status = ToolCallStatus.STARTED if started else ToolCallStatus.PLANNED
        at = clock.instant() if started else None
        self.spent.asked(call)
        self.open_calls[call.id] = OpenCall(self.number, call.id, call.name, status)
        self.stage(rows.InsertToolCall(self.number, call.id, self.journal.turn, reply_id, call.name, status, at))
        self.tell(events.tool_call_requested(call, reply_id))

    def call_started(self, call: ToolCall) -> None:
        """Stage a planned call as started: the commit comes before its function runs."""
        planned, started = ToolCallStatus.PLANNED, ToolCallStatus.STARTED
        self.open_calls[call.id] = OpenCall(self.number, call.id, call.name, started)
        self.stage(rows.StartToolCall(started, clock.instant(), self.number, call.id, planned))

    def call_finished(self, call_id: str, message_id: str, result: ToolResult, milliseconds: int | None) -> Message:
        """Stage a call's own result."""
        self.spent.answered(ok=result.ok)
        return self._settle(
            call_id, message_id, ToolCallStatus.FINISHED, result.text, ok=result.ok, full=result.full,
            altered=result.altered, milliseconds=milliseconds,
        )  # fmt: skip

    def _settle(
        self, call_id: str, message_id: str, status: ToolCallStatus, text: str, *, ok: bool, full: str | None = None,
        altered: bool = False, milliseconds: int | None = None,
    ) -> Message:  # fmt: skip
        call = self.open_calls.pop(call_id)
        message = Message(message_id, "tool", text, (), call.id, call.name)
        self.record(message)
        self.stage(
            rows.EndToolCall(
                status, milliseconds, int(ok), message.id, full, int(altered), self.number, call.id, call.status
            )
        )
        self.tell(events.tool_call_ended(message, ok=ok))
        return message

    def close_calls(self, closing: Closing, new_id: clock.NewId) -> None:
        """Stage the placeholder results of every open call (T24)."""
        for call, text in closing.results:
            self._settle(call.id, new_id(), ToolCallStatus.CLOSED, text, ok=False)

    # -- commits ---------------------------------------------------------------------------------------------------

    @property
    def is_staged(self) -> bool:
        """Whether anything waits for the next commit."""
        return bool(self.staged_rows or self.staged_log)

    async def commit(self) -> None:
        """Write what is staged."""
        staged, log = self._take()
        await self.journal.commit(staged, log)

    async def end(self, state: str, *, erase: bool, owning: Callable[[], Owning] | None) -> Claimed | None:
        """Write what is staged and release the session, in one transaction (T10); the next queued turn, if any."""
        staged, log = self._take()
        return await self.journal.end(staged, log, state, erase=erase, owning=owning)

    def ended(self, status: ExecutionStatus) -> None:
        self.status = status
        self.stage(rows.MoveExecution(status, milliseconds_since(self._started), self.number))

    def _take(self) -> tuple[list[Row], list[LogEntry]]:
        if self.riding is not None:
            self.riding()
        staged, log = self.staged_rows, self.staged_log
        self.staged_rows, self.staged_log = [], []
        return staged, log
