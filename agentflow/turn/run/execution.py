"""One run of an agent inside a turn, made of what it stages, reads, holds open and has spent.

    staging      rows, log entries and the end of its path, committed together: `record`, `add`, `tell`; `position`
    transcript   what its model reads: the turns before, this turn's messages, text of this step; the report of the
                 last call; every call id of the request
    in_flight    its open model call and tool calls, which `model_calls` and `tool_calls` begin and end
    todos, spent, tried   its todo list, its counters, what it did for room

Each part changes itself alone. An execution says who runs (`agent`, `prompt`, `parent`, `children`), commits what is
staged, and sums what it and its children spend.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from agentflow.agents.loaded_agent import LoadedAgent
from agentflow.clock import NewId
from agentflow.conversation.history import BuiltRequest
from agentflow.conversation.tree import Place
from agentflow.message import ExecutionStatus, Message, Usage
from agentflow.store.outcomes import Claimed, Closed
from agentflow.store.requests import Close, Owning
from agentflow.store.rows import changes
from agentflow.turn.rules.limits import Spent, Tried
from agentflow.turn.run.in_flight import InFlight, milliseconds_since
from agentflow.turn.run.journal import Journal
from agentflow.turn.run.staging import Position, Staging
from agentflow.turn.run.todos import TodoList
from agentflow.turn.run.transcript import Transcript


class Execution:
    """A run of `agent`, the turn's own or a sub-agent's, which has a `parent` and a path of its own (C1).

    The user reads what a `heard` execution says: the main one, and whichever the turn was handed to (T34). `usage` is
    what it and its `children` have spent. `started` is the loop's time at which this step of it began, `blobs` are
    keys of texts that the session is known to have stored. `carry_over` writes state and configuration in force again
    at the next head, where somebody keeps them (X18).
    """

    def __init__(
        self, journal: Journal, agent: LoadedAgent, number: int, transcript: Transcript, position: Position,
        started: float, *, parent: Execution | None = None, heard: bool = True, blobs: Iterable[str] = (),
    ) -> None:  # fmt: skip
        self.journal = journal
        self.agent = agent
        self.number = number
        self.parent = parent
        self.children: list[Execution] = []
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.heard = heard
        self.status = ExecutionStatus.RUNNING
        self.usage = journal.usage if parent is None else Usage()
        self.prompt = ""
        self.vars: Mapping[str, Any] = {} if parent is None else parent.vars
        self.staging = Staging(journal.turn, number, position, is_main=parent is None, blobs=blobs)
        self.transcript = transcript
        self.in_flight = InFlight(started)
        self.todos = TodoList(self.staging, journal.turn, number)
        self.spent = Spent()
        self.tried = Tried()
        self.is_planned = False
        self.data: Any = None
        self.carry_over: Callable[[], None] | None = None

    # -- who runs --------------------------------------------------------------------------------------------------

    def change_agent(self, agent: LoadedAgent) -> None:
        """Go on with another configuration of the agent."""
        self.agent = agent
        self.transcript.read_for(agent.model.name)

    def render_prompt(self, inputs: Mapping[str, Any]) -> None:
        """Write the agent's prompt anew. Raises for a template that cannot be rendered."""
        self.prompt = self.agent.render_prompt(inputs, self.vars, {"id": self.journal.session_id})

    def define(self, variables: Mapping[str, Any]) -> None:
        """The variables of the prompt template and of flows from now on."""
        self.vars = variables

    def planned(self) -> None:
        """This turn is not planned any more."""
        self.is_planned = True

    def ended_with(self, data: Any) -> None:
        """What a worker ended this run with."""
        self.data = data

    def kept_by(self, carry_over: Callable[[], None]) -> None:
        """Somebody keeps state and configuration in force."""
        self.carry_over = carry_over

    def find(self, number: int) -> Execution:
        """The run of that number, this one or one below it."""
        below = [self]
        while below:
            execution = below.pop()
            if execution.number == number:
                return execution
            below += execution.children
        raise LookupError(f"execution {number} does not run here")

    @property
    def delta_says(self) -> dict[str, Any]:
        """Whose text a delta is: empty for the main agent's."""
        if self.parent is None:
            return {}
        return {"execution": self.number, "heard": True} if self.heard else {"execution": self.number}

    # -- what it reads ---------------------------------------------------------------------------------------------

    @property
    def place(self) -> Place | None:
        """Where its path ends, staged messages included; null when nothing is on it."""
        return self.staging.position.place

    def request(self, *, with_tools: bool) -> BuiltRequest:
        return self.transcript.request(self.prompt, self.agent.schemas_chars if with_tools else 0)

    # -- what it does ----------------------------------------------------------------------------------------------

    def record(self, message: Message) -> None:
        """Stage a message and read it from now on."""
        self.staging.record(message)
        self.transcript.remember(message)

    def spend(self, usage: Usage) -> None:
        """Count a model call's usage once, here and wherever its sum is read (T35)."""
        self.usage += usage
        if self.parent is None:
            self.journal.spend(usage)
        else:
            self.parent.spend(usage)

    def ended(self, status: ExecutionStatus) -> None:
        """Stage the end of this run; a sub-agent's rides on its parent's next commit."""
        self.status = status
        self.staging.add(changes.MoveExecution(status, milliseconds_since(self.in_flight.started), self.number))
        if self.parent is not None:
            self.parent.staging.adopt(self.staging)

    async def commit(self) -> None:
        """Write what is staged."""
        await self.journal.commit(self.staging.take())

    async def end(self, state: str, *, owning: Callable[[], Owning] | None) -> Claimed | None:
        """Write what is staged and release the session, in one transaction (T10); the next queued turn, if any."""
        return await self.journal.end(self.staging.take(), state, owning=owning)

    async def close(
        self, how: Close, new_id: NewId, *, owning: Callable[[], Owning] | None
    ) -> tuple[Closed, Claimed | None]:
        """Write what is staged, close what the store says is open, and release the session (T24)."""
        return await self.journal.close(self.staging.take(), how, new_id, owning=owning)
