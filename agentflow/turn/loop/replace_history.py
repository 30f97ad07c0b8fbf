"""`context.replace`: the history of an execution becomes another branch at the root (X18).

What is kept is copied: a copy row names its original and stores nothing of it. The old messages stay in the tree and
are no longer read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from agentflow import events
from agentflow.clock import NewId
from agentflow.context.summary import summary_message
from agentflow.context.tokens import tokens_to_read
from agentflow.message import Message
from agentflow.store.records import PathEntry
from agentflow.store.rows import changes
from agentflow.turn.run.execution import Execution
from agentflow.turn.run.staging import Staging
from agentflow.turn.run.todos import open_todos


@dataclass(frozen=True, slots=True)
class Replacement:
    """The new history: a summary, if any, then these messages.

    A recorded message is given as its entry on a path and becomes a copy, any other as itself. Those of `current`
    belong to the running turn; `lean`: the ones before it are read lean (X1).
    """

    summary: str | None
    earlier: Sequence[PathEntry | Message]
    current: Sequence[PathEntry | Message]
    lean: bool

    @classmethod
    def of(
        cls, summary: str | None, given: Sequence[PathEntry | Message], execution: Execution, *, is_lean: bool
    ) -> Replacement:
        """These messages, split where the running turn begins: at its first message, or at the first new one."""
        own, turn = {message.id for message in execution.transcript.messages}, execution.journal.turn
        first = next(
            (
                index
                for index, each in enumerate(given)
                if not isinstance(each, PathEntry) or each.turn == turn or each.message.id in own
            ),
            len(given),
        )
        return cls(summary if summary and summary.strip() else None, given[:first], given[first:], is_lean)


def named(message: Message, new_id: NewId) -> Message:
    """A new message with its id."""
    return message if message.id else replace(message, id=new_id())


def tokens_now(execution: Execution, *, with_tools: bool) -> int:
    """What the next request of an execution would read: the one count that every event and read shows (X5)."""
    return tokens_to_read(execution.transcript.report, execution.request(with_tools=with_tools).chars)


def replace_history(
    execution: Execution, new: Replacement, held: str | None, new_id: NewId, *, with_tools: bool
) -> int:
    """Stage the new branch and let the execution go on there; the call `held` moves along (X19).

    Returns the tokens read from now on. Those before are what `context.limited` said, when that led here (X20).
    """
    limited = execution.tried.limited
    tokens_before = tokens_now(execution, with_tools=with_tools) if limited is None else limited
    execution.tried.limited = None
    staging = execution.staging
    previous_head_id = staging.position.message_id
    staging.leave_path()
    first: list[Message] = []
    if new.summary is not None:
        first.append(Message(new_id(), "user", summary_message(new.summary), summary=True))
        staging.record(first[0])
    earlier = [_record(staging, each, new_id) for each in new.earlier]
    current = [_record(staging, each, new_id) for each in new.current]
    execution.transcript.leave_for([*first, *earlier], current, is_lean=new.lean)
    restate_todos(execution)
    if held is not None:
        branch, depth = execution.place or (None, None)
        staging.add(changes.MoveLlmCall(branch, depth, held))
    tokens_after = tokens_now(execution, with_tools=with_tools)
    staging.tell(
        events.context_replaced(
            None if new.summary is None else new.summary.strip(),
            first[0].id if first else None,
            {
                "kept": len(earlier) + len(current),
                "copied": sum(isinstance(each, PathEntry) for each in (*new.earlier, *new.current)),
                "tokens_before": tokens_before,
                "tokens_after": tokens_after,
                "head_id": staging.position.message_id,
                "previous_head_id": previous_head_id,
            },
        )
    )
    return tokens_after


def keep_history(execution: Execution, reason: str) -> None:
    """Close the phase that `context.limited` opened, unless that is done: the history stays as it is (X20)."""
    if execution.tried.limited is not None:
        execution.tried.limited = None
        execution.staging.tell(events.context_kept(reason))


def _record(staging: Staging, given: PathEntry | Message, new_id: NewId) -> Message:
    if isinstance(given, PathEntry):
        return staging.record_copy(new_id(), given)
    staging.record(given, "kept")
    return given


def restate_todos(execution: Execution) -> None:
    """Say what is still open: the model may no longer read how it wrote its list (T32)."""
    execution.transcript.restate(open_todos(execution.todos.items))
