"""What the next commit of an execution takes: rows, log entries, and where its path ends after them (T11).

Staging is memory only. A commit takes all of it, so what belongs to one moment lands together or not at all. A commit
of anything else keeps the stored head where it is: no head is ever stored before the message that it names (C36).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from agentflow import clock, events
from agentflow.conversation.tree import Node, Place
from agentflow.events import LogEntry
from agentflow.message import Message, WrittenAs
from agentflow.store.outcomes import Claimed
from agentflow.store.records import PathEntry
from agentflow.store.rows import changes, inserts
from agentflow.store.rows.inserts import InsertBranch
from agentflow.store.rows.messages import as_recorded, copy_row, file_rows, message_row
from agentflow.store.rows.written import Row
from agentflow.text import digest


class Position:
    """Where a path ends, staged messages included: at `place`, which holds the message `message_id`.

    Both are null above every root. A sub-agent's path has a root of its own (C1).
    """

    def __init__(
        self, new_branch: Callable[[], int], place: Place | None, message_id: str | None, *, forks: bool = False,
        root_of: int | None = None,
    ) -> None:  # fmt: skip
        self.place = place
        self.message_id = message_id
        self._new_branch = new_branch
        self._forks = forks
        self._root_of = root_of

    @classmethod
    def of_claim(cls, new_branch: Callable[[], int], claimed: Claimed) -> Position:
        """Where the main path ends as a step begins."""
        return cls(new_branch, claimed.head, claimed.head_id, forks=claimed.forks)

    def advance(self, message_id: str) -> tuple[InsertBranch | None, Place]:
        """Move to where the next message goes; the branch that opens there, if one does."""
        opened, (branch, depth) = None, self.place or (None, 0)
        if branch is None or self._forks:
            number = self._new_branch()
            opened = InsertBranch(number, branch, depth, self._root_of)
            branch, self._forks = number, False
        self.place, self.message_id = Place(branch, depth + 1), message_id
        return opened, self.place

    def move(self, place: Place | None, message_id: str | None, *, forks: bool) -> None:
        """Go on somewhere else; `forks`: something follows there already, so the next message opens a branch."""
        self.place, self.message_id, self._forks = place, message_id, forks and place is not None


@dataclass(frozen=True, slots=True)
class Batch:
    """One commit's worth. `head` is the end of the main path after it; with `keeps_head` the stored one stays."""

    rows: list[Row]
    log: list[LogEntry]
    head: Place | None = None
    keeps_head: bool = True


class Staging:
    """What one execution stages. `path` is its whole path as recorded and staged, null while nobody follows it."""

    def __init__(
        self, turn: int, execution: int, position: Position, *, is_main: bool, blobs: Iterable[str] = ()
    ) -> None:
        self.position = position
        self.path: list[Message] | None = None
        self.blobs = set(blobs)
        self._turn = turn
        self._execution = execution
        self._is_main = is_main
        self._rows: list[Row] = []
        self._log: list[LogEntry] = []
        self._before_take: Callable[[], None] | None = None

    def __bool__(self) -> bool:
        """Whether anything waits for the next commit."""
        return bool(self._rows or self._log)

    def add(self, *staged: Row) -> None:
        self._rows += staged

    def tell(self, *entries: LogEntry) -> None:
        """Stage log entries as happening now; those of a sub-agent's run say which it is."""
        told = entries if self._is_main else [events.of_execution(entry, self._execution) for entry in entries]
        self._log += events.happened(told, clock.instant())

    def blob(self, text: str, key: str | None = None) -> str:
        """The key of a text that is stored once a session; `key`: where it is known already."""
        key = key or digest(text)
        if key not in self.blobs:
            self.blobs.add(key)
            self.add(inserts.InsertBlob(key, text))
        return key

    def record(self, message: Message, written_as: WrittenAs | None = None) -> Message:
        """Stage a message under the end of the path, and the bytes that came with it; it is returned without them."""
        place, parent_id = self._next_place(message.id)
        self.add(*file_rows(message))
        message = as_recorded(message)
        self.add(message_row(message, place.branch, place.depth, self._turn, self._execution, written_as))
        self._tell_of(message, parent_id, None)
        return message

    def record_copy(self, id_: str, entry: PathEntry) -> Message:
        """Stage the copy that a `context.replace` keeps of a recorded message, under the end of the path (X18)."""
        first = entry.message
        node = Node(
            first.id, entry.place, first.role, (), first.tool_call_id, entry.turn, copied_from=entry.copied_from
        )
        message = replace(first, id=id_)
        place, parent_id = self._next_place(id_)
        self.add(copy_row(id_, node, place.branch, place.depth, self._turn, self._execution, "kept"))
        self._tell_of(message, parent_id, node.original)
        return message

    def staged_message(self, message_id: str) -> inserts.InsertMessage | None:
        """The row of a message that waits to be written."""
        found = (row for row in self._rows if isinstance(row, inserts.InsertMessage) and row.id == message_id)
        return next(found, None)

    def ends_model_call(self, call_id: str) -> bool:
        """Whether the end of that model call waits to be written, so that its row is still open in the store."""
        return any(isinstance(row, changes.EndLlmCall) and row.id == call_id for row in self._rows)

    def rewrite(self, message: Message) -> None:
        """Give a message that waits to be written another content."""
        place = self.staged_message(message.id)
        if place is None:
            raise LookupError(f"message {message.id} is not staged")
        staged = message_row(message, place.branch, place.depth, place.turn, place.execution)
        self._rows = [staged if row is place else row for row in self._rows]
        self._log = [
            events.message_new(message, entry.full["parent_id"])._replace(at=entry.at)
            if entry.type == events.MESSAGE_NEW and entry.ref == message.id
            else entry
            for entry in self._log
        ]
        if self.path:
            self.path[-1] = message

    def leave_path(self) -> None:
        """Stand above every root: what is recorded next begins another path (X18)."""
        self.position.move(None, None, forks=False)
        self.path = None

    def follow(self, path: list[Message]) -> None:
        """Keep `path`, which is the whole one up to here, as it grows."""
        self.path = path

    def before_take(self, stage: Callable[[], None]) -> None:
        """Have `stage` called before each commit takes what is staged: what it stages rides on that commit."""
        self._before_take = stage

    def adopt(self, below: Staging) -> None:
        """Let what a sub-agent's run has staged ride on this execution's next commit."""
        batch = below.take()
        self._rows += batch.rows
        self._log += batch.log

    def take(self) -> Batch:
        """All that is staged, and for the main path where it ends."""
        if self._before_take is not None:
            self._before_take()
        staged, log = self._rows, self._log
        self._rows, self._log = [], []
        return Batch(staged, log, self.position.place, keeps_head=False) if self._is_main else Batch(staged, log)

    def _next_place(self, message_id: str) -> tuple[Place, str | None]:
        parent_id = self.position.message_id
        opened, place = self.position.advance(message_id)
        if opened is not None:
            self.add(opened)
        return place, parent_id

    def _tell_of(self, message: Message, parent_id: str | None, copied_from: str | None) -> None:
        self.tell(events.message_new(message, parent_id, copied_from))
        if self.path is not None:
            self.path.append(message)
