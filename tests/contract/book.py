"""A store under test, and sessions written by hand: the store's own claim, append and end.

`begin` opens a turn by a plain job, without the messages and events of a claim, where only what follows it counts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from agentflow import events
from agentflow.clock import SECOND, uuid7
from agentflow.conversation.inbox import parse_input
from agentflow.conversation.tree import Place
from agentflow.errors import InvalidInput
from agentflow.events import LogEntry, ModelCall
from agentflow.message import ExecutionStatus, Message, ToolCall, TurnState
from agentflow.store.outcomes import Appended, Claimed
from agentflow.store.requests import Append, Claim, End, Owning
from agentflow.store.rows import changes, inserts
from agentflow.store.rows.messages import message_row
from agentflow.store.rows.written import Row
from agentflow.store.sql.database import open_database
from agentflow.store.sql.tables import Base
from agentflow.store.sql.transaction import Tx
from agentflow.store.sql.writer import Writer
from agentflow.store.sql_store import SqlStore
from agentflow.text import compact_json, digest

T = TypeVar("T")
TABLES = [table.name for table in Base.metadata.sorted_tables if "session_key" in table.columns]
NOW = 1_800_000_000_000_000


@dataclass
class Turn:
    """A turn that runs: what its writer knows."""

    key: int
    epoch: int
    number: int
    id: str
    head: Place | None
    step: int = 0
    execution: int = 0


def turn_of(claimed: Claimed) -> Turn:
    """What the writer of a claimed turn knows."""
    head = claimed.head
    return Turn(
        claimed.key, claimed.epoch, claimed.turn, claimed.turn_id, head, claimed.step, claimed.execution
    )  # fmt: skip


def owning_of(owner: str, at: int, *, alive: bool) -> Owning:
    """Who claims, with an agent of no declared inputs; it takes `max_iterations` as its only limit."""

    def config(limits: Mapping[str, Any]) -> tuple[str, str]:
        if limits.keys() - {"max_iterations"}:
            raise InvalidInput("limits: there is only max_iterations.")
        text = compact_json(dict(limits))
        return digest(text), text

    return Owning(
        "helper", config, None, owner, at + 30 * SECOND, at, lambda *_: alive, uuid7, lambda given: dict(given)
    )  # fmt: skip


class Book:
    """`store` and `writer` share one database; `run` runs a test's coroutine and closes both."""

    def __init__(self, url: str, on_commit: Callable[[int], None] | None = None) -> None:
        database = open_database(url)
        self.dialect = database.name
        self.session_id = uuid7()
        self.store = SqlStore(database, on_commit)
        self.writer = Writer(database)

    def run(self, test: Callable[[], Coroutine[Any, Any, T]]) -> T:
        async def closing() -> T:
            try:
                return await test()
            finally:
                await self.writer.close()
                await self.store.close()

        return asyncio.run(closing())

    async def begin(self, session_id: str | None = None, *, agent: str = "helper", at: int = NOW) -> Turn:
        """Open the session's next turn with its step and execution, all with the turn's number."""
        name = session_id or self.session_id
        return await self.writer.run(lambda tx: _begin(tx, name, agent, at), name)

    async def claim(
        self, given: dict[str, Any], *, owner: str = "me", at: int = NOW, alive: bool = False, agent: str = "helper"
    ) -> Any:
        """The store's own claim of an input, by an owner of whom others say that it is `alive` or not."""
        request = parse_input(given)
        owning = replace(owning_of(owner, at, alive=alive), agent=agent)
        asked = Claim(self.session_id, request, request.turn_id or uuid7(), request.turn_id is not None, owning)
        return await self.store.claim(asked)

    async def pause(self, turn: Turn, call_id: str) -> None:
        """End the step with a question."""
        asks = assistant(None, ToolCall(call_id, "ask_user", "{}"))
        await self.say(turn, asks)
        place = turn.head or Place(1, 0)
        asked = compact_json([{"header": "Size", "question": "Which size?", "options": [], "multi_select": False}])
        written: list[Row] = [
            inserts.InsertToolCall(turn.execution, call_id, turn.number, asks.id, "ask_user", "planned", None),
            inserts.InsertQuestion(turn.execution, call_id, turn.number, "pending", asked, NOW, None, *place),
            changes.EndTurn(
                TurnState.PAUSED_ASK_USER, None, None, None, 1, 2, None, None, "0.5", turn.number, TurnState.RUNNING
            ),
            changes.EndStep(TurnState.PAUSED_ASK_USER, NOW, 7, None, None, turn.step),
            changes.MoveExecution(ExecutionStatus.PENDING_USER_INPUT, None, turn.execution),
        ]
        await self.end(turn, written, state=TurnState.PAUSED_ASK_USER)

    async def append(self, turn: Turn, written: Sequence[Row], log: Sequence[LogEntry] = (), at: int = NOW) -> Appended:
        return await self.store.append(self.write(turn, written, log, at))

    async def end(
        self, turn: Turn, written: Sequence[Row] = (), log: Sequence[LogEntry] = (), *,
        state: str = TurnState.DONE, erase: bool = False, at: int = NOW,
    ) -> Appended:  # fmt: skip
        if erase:
            await self.writer.run(lambda tx: _unobserved(tx, turn.key))
        return await self.store.end(End(self.write(turn, written, log, at), state))

    @staticmethod
    def write(turn: Turn, written: Sequence[Row], log: Sequence[LogEntry] = (), at: int = NOW) -> Append:
        placed = [Place(row.branch, row.depth) for row in written if isinstance(row, inserts.InsertMessage)]
        turn.head = placed[-1] if placed else turn.head
        branch = turn.head.branch if turn.head is not None else 0
        told = [*log, *requested(written, log)]
        return Append(turn.key, turn.epoch, turn.number, at, turn.head, turn.number, branch, written, told)

    async def say(self, turn: Turn, *messages: Message, branch: int | None = None, depth: int | None = None) -> None:
        """Record messages as a chain under the head, or from the given place on."""
        head = turn.head or Place(1, 0)
        at, first = branch or head.branch, depth or head.depth + 1
        written = [message_row(m, at, first + i, turn.number, turn.number) for i, m in enumerate(messages)]
        await self.append(turn, written, [events.message_new(m, None) for m in messages])

    async def count(self, table: str, key: int) -> int:
        text = f"SELECT count(*) FROM {table} WHERE session_key = ?"
        return int((await self.writer.run(lambda tx: tx.one(text, key)))[0])

    async def rows_of(self, key: int) -> dict[str, int]:
        """How many rows each table has of the session, empty ones left out."""
        counts = {table: await self.count(table, key) for table in TABLES}
        return {table: count for table, count in counts.items() if count}


def requested(written: Sequence[Row], log: Sequence[LogEntry] = ()) -> list[LogEntry]:
    """What the log says of model calls among these rows, and does not say yet."""
    told = {entry.ref for entry in log}
    calls = [row for row in written if isinstance(row, inserts.InsertLlmCall) and row.id not in told]
    return [events.llm_call_requested(ModelCall(row.id, row.iteration, row.purpose, row.model)) for row in calls]


def _unobserved(tx: Tx, key: int) -> None:
    """The configuration of the book's own turns says that nothing of them is kept (R5)."""
    text = (
        "INSERT INTO blob (session_key, hash, body) VALUES (?, 'hash', ?) "
        "ON CONFLICT (session_key, hash) DO UPDATE SET body = excluded.body"
    )
    tx.execute(text, key, '{"settings":{"observability":false}}')


def _begin(tx: Tx, session_id: str, agent: str, at: int) -> Turn:
    tx.execute(
        "INSERT INTO session (id, agent, environment, created_at, updated_at, seq, epoch, queued, turns, steps, "
        "executions, branches) VALUES (?, ?, 'production', ?, ?, 0, 0, 0, 0, 0, 0, 0) ON CONFLICT (id) DO NOTHING",
        session_id, agent, at, at,
    )  # fmt: skip
    key, branch, depth, number, epoch, seq = tx.one(
        "UPDATE session SET epoch = epoch + 1, turns = turns + 1, steps = steps + 1, executions = executions + 1, "
        "turn = turns + 1, owner = 'me', lease_until = ?, updated_at = ?, seq = seq + 1 WHERE id = ? "
        "RETURNING key, branch, depth, turns, epoch, seq",
        at, at, session_id,
    )  # fmt: skip
    turn = Turn(key, epoch, number, f"turn-{number}", None if branch is None else Place(branch, depth))
    written: list[Row] = [
        inserts.InsertTurn(number, turn.id, TurnState.RUNNING, "hash", at, None, seq - 1),
        inserts.InsertStep(number, number, TurnState.RUNNING, at, None),
        inserts.InsertExecution(number, number, agent, "hash", "RUNNING", at),
    ]
    if number == 1:
        written.append(inserts.InsertBranch(1, None, 0))
    tx.write(key, written)
    tx.log(key, seq, number, events.happened([events.plain(events.TURN_STARTED, {"turn_id": turn.id})], at))
    return turn


def ended(
    turn: Turn, state: str = TurnState.DONE, answer: Message | None = None, chars: int | None = None
) -> list[Row]:
    """The rows that end a turn and its step."""
    return [
        changes.EndTurn(state, NOW, None, None, 1, 2, None, None, "0.5", turn.number, TurnState.RUNNING),
        changes.EndStep(state, NOW, 7, None if answer is None else answer.id, chars, turn.number),
    ]


def user(text: str, id_: str | None = None) -> Message:
    return Message(id_ or uuid7(), "user", text)


def assistant(text: str | None, *calls: Any) -> Message:
    return Message(uuid7(), "assistant", text, tuple(calls))
