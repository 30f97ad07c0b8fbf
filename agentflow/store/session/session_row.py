"""A session's row while one transaction works on it, and everything that transaction will write."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from agentflow import events
from agentflow.clock import Instant
from agentflow.conversation.tree import Place
from agentflow.conversation.view import Write
from agentflow.errors import StoreError
from agentflow.events import LogEntry
from agentflow.message import Message
from agentflow.store.reads.files import refuse_unknown_files
from agentflow.store.reads.messages import message_at
from agentflow.store.rows import inserts
from agentflow.store.rows.messages import as_recorded, copy_row, file_rows, message_row
from agentflow.store.rows.written import Row
from agentflow.store.sql.transaction import Tx

NAME_TRIES = 3
"""How often a session is tried to be named (R7)."""

_COLUMNS = (
    "key", "agent", "branch", "depth", "seq", "epoch", "turn", "owner", "lease_until", "stop_turn", "queued", "turns",
    "steps", "executions", "branches", "ended_at", "outcome", "name", "name_tries", "environment",
    "belongs_to",
)  # fmt: skip
_SELECT = f"SELECT {', '.join(_COLUMNS)} FROM session WHERE "
_INSERT = (
    "INSERT INTO session (id, agent, environment, belongs_to, created_at, updated_at, seq, epoch, queued, turns, "
    "steps, executions, branches) VALUES (?, ?, ?, ?, ?, ?, 0, 0, 0, 0, 0, 0, 0) ON CONFLICT (id) DO NOTHING"
)
_UPDATE = (
    "UPDATE session SET branch = ?, depth = ?, seq = ?, epoch = ?, turn = ?, owner = ?, lease_until = ?, "
    "stop_turn = ?, queued = ?, turns = ?, steps = ?, executions = ?, branches = ?, ended_at = ?, "
    "outcome = ?, updated_at = ? "
    "WHERE key = ? AND epoch = ?"
)


@dataclass(slots=True)
class SessionRow:
    """The row's columns, changed in place, and the rows and log entries gathered for `write`."""

    key: int
    agent: str
    branch: int | None
    depth: int | None
    seq: int
    epoch: int
    turn: int | None
    owner: str | None
    lease_until: int | None
    stop_turn: str | None
    queued: int
    turns: int
    steps: int
    executions: int
    branches: int
    ended_at: int | None
    outcome: str | None
    name: str | None
    name_tries: int
    environment: str
    belongs_to: str | None
    created: bool = False
    rows: list[Row] = field(default_factory=list)
    log: list[LogEntry] = field(default_factory=list)
    _read_epoch: int = -1

    @classmethod
    def locked(cls, tx: Tx, session_id: str) -> SessionRow | None:
        """The session's row, locked until the transaction ends; null when there is none."""
        return cls._of(tx.one(_SELECT + "id = ?" + _for_update(tx), session_id))

    @classmethod
    def by_key(cls, tx: Tx, key: int) -> SessionRow | None:
        return cls._of(tx.one(_SELECT + "key = ?" + _for_update(tx), key))

    @classmethod
    def _of(cls, row: Any) -> SessionRow | None:
        if row is None:
            return None
        session = cls(*row)
        session._refuse_damaged()
        session._read_epoch = session.epoch
        return session

    def _refuse_damaged(self) -> None:
        """What is counted on from here must be numbers: everything that is written hangs on them (Z1)."""
        numbers = (self.seq, self.epoch, self.queued, self.turns, self.steps, self.executions, self.branches)
        place = (self.branch, self.depth)
        if {*map(type, numbers)} != {int} or (place != (None, None) and {*map(type, place)} != {int}):
            raise StoreError("The session's row is damaged.", detail={"damaged": True})

    @classmethod
    def made(
        cls, tx: Tx, session_id: str, agent: str, environment: str, at: Instant, user: str | None = None
    ) -> SessionRow:
        """A new session's row, or the one that another process made first."""
        count = tx.execute(_INSERT, session_id, agent, environment, user, at, at)
        session = cls.locked(tx, session_id)
        if session is None:
            raise LookupError(f"session {session_id!r} vanished while it was made")
        session.created = count == 1
        return session

    @property
    def head(self) -> Place | None:
        return None if self.branch is None or self.depth is None else Place(self.branch, self.depth)

    @head.setter
    def head(self, place: Place | None) -> None:
        self.branch, self.depth = place or (None, None)

    @property
    def awaits_name(self) -> bool:
        """Whether it is to be named after a turn: evaluations never are (R7, R9)."""
        return self.name is None and self.name_tries < NAME_TRIES and self.environment != "evaluation"

    def turn_id(self, tx: Tx) -> str:
        """The id of the turn that has the session."""
        return str(tx.one("SELECT id FROM turn WHERE session_key = ? AND number = ?", self.key, self.turn)[0])

    def release(self) -> None:
        """Let nobody have the session."""
        self.turn = self.owner = self.lease_until = self.stop_turn = None

    def tell(self, *entries: LogEntry) -> None:
        self.log += entries

    def record(
        self, tx: Tx, writes: Iterable[Message | Write], turn: int, execution: int, parent: str | None
    ) -> tuple[Message, ...]:
        """Stage messages and copies as a chain under the head, whose message is `parent`; returns them whole (C5).

        The chain continues the head's branch when the head is its tip; otherwise a new branch forks there.
        """
        first, recorded = True, []
        for write in writes:
            if first and self.head is not None and not self.is_tip(tx):
                self.new_branch(self.branch, self.depth or 0)
            if self.branch is None:
                self.new_branch(None, 0)
            first = False
            self.depth = (self.depth or 0) + 1
            recorded.append(self._stage(tx, write, turn, execution, parent))
            parent = recorded[-1].id
        return tuple(recorded)

    def _stage(self, tx: Tx, write: Message | Write, turn: int, execution: int, parent: str | None) -> Message:
        branch, depth = self.branch or 0, self.depth or 0
        message = write if isinstance(write, Message) else write.message
        if message is not None:
            refuse_unknown_files(tx, self.key, message)
            self.rows += (*file_rows(message), message_row(message, branch, depth, turn, execution))
            self.tell(events.message_new(message, parent))
            return as_recorded(message)
        if not isinstance(write, Write) or write.original is None:
            raise TypeError(f"neither a message nor a copy: {write!r}")
        self.rows.append(copy_row(write.id, write.original, branch, depth, turn, execution))
        copied = _copied(tx, self.key, write)
        self.tell(events.message_new(copied, parent, write.copied_from))
        return copied

    def record_below(self, tx: Tx, message: Message, turn: int, execution: int, *entries: LogEntry) -> None:
        """Stage a message under the tip of a sub-agent's path, and the entries that follow it; the head stays."""
        tip = tx.one(
            "SELECT message.branch, message.depth, message.id FROM message JOIN branch "
            "ON branch.session_key = message.session_key AND branch.number = message.branch "
            "WHERE message.session_key = ? AND branch.execution = ? ORDER BY message.branch DESC, message.depth DESC "
            "LIMIT 1",
            self.key,
            execution,
        )
        if tip is None:  # its messages are gone
            self.branches += 1
            self.rows.append(inserts.InsertBranch(self.branches, None, 0, execution))
        branch, depth, parent = tip or (self.branches, 0, None)
        below = [row for row in self.rows if isinstance(row, inserts.InsertMessage) and row.branch == branch]
        if below:
            depth, parent = below[-1].depth, below[-1].id
        self.rows += (*file_rows(message), message_row(message, branch, depth + 1, turn, execution))
        told = (events.message_new(message, parent), *entries)
        self.tell(*(events.of_execution(entry, execution) for entry in told))

    def is_tip(self, tx: Tx) -> bool:
        """Whether nothing follows the head on its branch."""
        below = "SELECT 1 FROM message WHERE session_key = ? AND branch = ? AND depth = ?"
        return tx.one(below, self.key, self.branch, (self.depth or 0) + 1) is None

    def new_branch(self, parent: int | None, fork_depth: int) -> None:
        """Stage a branch and stand at its fork, above its first message."""
        self.branches += 1
        self.branch, self.depth = self.branches, fork_depth
        self.rows.append(inserts.InsertBranch(self.branches, parent, fork_depth))

    def flush(self, tx: Tx, turn: int | None, at: Instant) -> list[LogEntry]:
        """Write what is staged and log it under `turn`; the session's row itself is written by `save`."""
        staged, told = self.rows, events.happened(self.log, at)
        self.rows, self.log = [], []
        self.seq += len(told)
        tx.write(self.key, staged)
        tx.log(self.key, self.seq, turn, told)
        return told

    def save(self, tx: Tx, at: Instant) -> None:
        """Write the session's row."""
        values: Sequence[object] = (
            self.branch, self.depth, self.seq, self.epoch, self.turn, self.owner, self.lease_until, self.stop_turn,
            self.queued, self.turns, self.steps, self.executions, self.branches, self.ended_at, self.outcome, at,
            self.key, self._read_epoch,
        )  # fmt: skip
        tx.execute(_UPDATE, *values)
        self._read_epoch = self.epoch


def _copied(tx: Tx, key: int, write: Write) -> Message:
    if write.original is None:
        raise TypeError("not a copy")
    first = message_at(tx, key, write.original.id)
    return Message(
        write.id, first.role, first.content, first.tool_calls, first.tool_call_id, first.name, first.provider,
        first.hidden, first.summary,
    )  # fmt: skip


def _for_update(tx: Tx) -> str:
    return " FOR UPDATE" if tx.is_postgres else ""
