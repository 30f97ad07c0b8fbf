"""What must be true of the rows after every commit, whoever made it (C5, C18, C36, T10, T30, T40)."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from typing import Any

from agentflow.store.reads.messages import path
from agentflow.store.session.session_row import SessionRow
from agentflow.store.sql.transaction import Tx
from tests.scenarios.statistics import differences
from tests.simulation.ledger import Violation

Row = tuple[Any, ...]
_ENDED = "('done', 'failed', 'aborted')"

# name -> a statement that finds what may not be, for one session
_NEVER: dict[str, str] = {
    "two turns run": "SELECT count(*) FROM turn WHERE session_key = ?1 AND state = 'running' HAVING count(*) > 1",
    "a turn runs that does not have its session": (
        "SELECT turn.number, session.turn FROM turn JOIN session ON session.key = turn.session_key "
        "WHERE session_key = ?1 AND state = 'running' AND session.turn IS NOT turn.number"
    ),
    "a session is held by a turn that does not run": (
        "SELECT number, state FROM session JOIN turn ON session_key = key AND number = session.turn "
        "WHERE key = ?1 AND state <> 'running'"
    ),
    "a call is open in an ended turn": (
        "SELECT tool_call.id, name, status, turn.id, turn.state FROM tool_call JOIN turn "
        "ON turn.session_key = tool_call.session_key AND turn.number = tool_call.turn "
        f"WHERE tool_call.session_key = ?1 AND status IN ('planned', 'started') AND turn.state IN {_ENDED}"
    ),
    "a call is open in a paused turn": (
        "SELECT tool_call.id, name, status, turn.id FROM tool_call JOIN turn "
        "ON turn.session_key = tool_call.session_key AND turn.number = tool_call.turn "
        "WHERE tool_call.session_key = ?1 AND status IN ('planned', 'started') AND turn.state = 'paused_ask_user' "
        "AND name NOT IN ('ask_user', 'delegate')"
    ),
    "a model call is open in a turn that does not run": (
        "SELECT llm_call.id, purpose, turn.id, turn.state FROM llm_call JOIN turn "
        "ON turn.session_key = llm_call.session_key AND turn.number = llm_call.turn "
        "WHERE llm_call.session_key = ?1 AND llm_call.status = 'requested' AND turn.state <> 'running'"
    ),
    "an execution is open in an ended turn": (
        "SELECT execution.number, status, turn.id FROM execution JOIN turn "
        "ON turn.session_key = execution.session_key AND turn.number = execution.turn "
        f"WHERE execution.session_key = ?1 AND (status = 'PENDING_USER_INPUT' AND turn.state IN {_ENDED} "
        "OR status = 'RUNNING' AND turn.state <> 'running')"
    ),
    "a question is open in an ended turn": (
        "SELECT call_id, turn.id, turn.state FROM question JOIN turn ON turn.session_key = question.session_key "
        f"AND turn.number = question.turn WHERE question.session_key = ?1 AND question.state = 'pending' "
        f"AND turn.state IN {_ENDED}"
    ),
    "a paused turn has no open question": (
        "SELECT id FROM turn WHERE session_key = ?1 AND state = 'paused_ask_user' AND NOT EXISTS (SELECT 1 FROM "
        "question WHERE question.session_key = turn.session_key AND question.turn = turn.number "
        "AND question.state = 'pending')"
    ),
    "a step is open in a turn that does not run": (
        "SELECT step.number, turn.id, turn.state FROM step JOIN turn ON turn.session_key = step.session_key "
        "AND turn.number = step.turn WHERE step.session_key = ?1 AND step.state = 'running' AND turn.state <> 'running'"
    ),
    "a branch has a hole": (
        "SELECT branch.number, fork_depth, min(depth), max(depth), count(depth) FROM branch LEFT JOIN message "
        "ON message.session_key = branch.session_key AND message.branch = branch.number WHERE branch.session_key = ?1 "
        "GROUP BY branch.number, fork_depth HAVING count(depth) = 0 OR min(depth) <> fork_depth + 1 "
        "OR count(depth) <> max(depth) - min(depth) + 1"
    ),
    "a branch hangs on nothing": (
        "SELECT number, parent, fork_depth FROM branch WHERE session_key = ?1 AND (parent IS NULL AND fork_depth <> 0 "
        "OR parent IS NOT NULL AND fork_depth > 0 AND NOT EXISTS (SELECT 1 FROM message WHERE session_key = ?1 "
        "AND message.branch = branch.parent AND message.depth = branch.fork_depth))"
    ),
    "a message is in no branch": (
        "SELECT id FROM message WHERE session_key = ?1 AND NOT EXISTS (SELECT 1 FROM branch "
        "WHERE branch.session_key = message.session_key AND branch.number = message.branch)"
    ),
    "the head has no message": (
        "SELECT branch, depth FROM session WHERE key = ?1 AND branch IS NOT NULL AND NOT EXISTS (SELECT 1 FROM message "
        "WHERE session_key = key AND message.branch = session.branch AND message.depth = session.depth)"
    ),
    "a copy of nothing": (
        "SELECT id, copied_from FROM message copy WHERE session_key = ?1 AND copied_from IS NOT NULL AND NOT EXISTS "
        "(SELECT 1 FROM message WHERE session_key = ?1 AND id = copy.copied_from AND copied_from IS NULL)"
    ),
    "events have a gap": (
        "SELECT session.seq, (SELECT max(seq) FROM event WHERE session_key = ?1) AS highest, (SELECT count(*) FROM "
        "event WHERE session_key = ?1) AS number FROM session WHERE key = ?1 "
        "AND (highest IS NOT session.seq OR number <> session.seq)"
    ),
    "the queue is counted wrong": (
        "SELECT queued, (SELECT count(DISTINCT turn_id) FROM queue_entry WHERE session_key = ?1) AS waiting "
        "FROM session WHERE key = ?1 AND queued <> waiting"
    ),
    "a turn both waits and has begun": (
        "SELECT id FROM turn JOIN queue_entry ON queue_entry.session_key = turn.session_key AND turn_id = id "
        "WHERE turn.session_key = ?1"
    ),
    "a fault of agentflow": (
        "SELECT id, error FROM turn WHERE session_key = ?1 AND error LIKE '%internal_error%'"
    ),
}  # fmt: skip
_ENDS = (
    "SELECT turn.number, turn.state, (SELECT count(*) FROM step WHERE step.session_key = ?1 AND step.turn = "
    "turn.number), coalesce(sum(json_extract(event.data, '$.pending')), 0), count(event.seq) FROM turn LEFT JOIN event "
    "ON event.session_key = ?1 AND event.turn = turn.number AND type = 'done' WHERE turn.session_key = ?1 "
    "GROUP BY turn.number, turn.state"
)
_USAGE = (
    "SELECT turn.id, turn.input, turn.output, sum(llm_call.input), sum(llm_call.output) FROM turn LEFT JOIN llm_call "
    "ON llm_call.session_key = turn.session_key AND llm_call.turn = turn.number WHERE turn.session_key = ?1 "
    f"AND turn.state IN {_ENDED} GROUP BY turn.id, turn.input, turn.output "
    "HAVING turn.input IS NOT sum(llm_call.input) OR turn.output IS NOT sum(llm_call.output)"
)
_COLUMNS = "key, id, seq, epoch, turn, branch, depth, queued, owner, stop_turn"


class Rows:
    """Looks at the database after each commit; only at sessions whose row has changed."""

    def __init__(self, shared: sqlite3.Connection, stopping: Callable[[str], bool]) -> None:
        self.select = shared.cursor()
        self._tx = Tx(shared.cursor(), "sqlite")
        self._seen: dict[int, Row] = {}
        self._queues: dict[int, list[str]] = {}
        self._stopping = stopping

    def all(self, text: str, *values: Any) -> list[Row]:
        return self.select.execute(text, values).fetchall()

    def check(self) -> None:
        """After a commit. Raises `Violation`."""
        for row in self.all(f"SELECT {_COLUMNS} FROM session"):
            if self._seen.get(row[0]) != row:
                self._seen[row[0]] = row
                self._check_session(row)

    def _check_session(self, row: Row) -> None:
        key, session = row[0], row[1]
        for name, text in _NEVER.items():
            if found := self.all(text, key):
                raise Violation(name, f"{session}: {found}")
        for number, state, steps, pauses, ends in self.all(_ENDS, key):
            self._check_ends(session, number, state, steps, pauses, ends)
        if found := self.all(_USAGE, key):
            raise Violation("usage is not the sum of its calls", f"{session}: {found}")
        if found := differences(lambda text: self.all(text), key):
            raise Violation("the statistics are not what the rows say", f"{session}: {found}")
        self._check_queue(key, session)
        if row[4] is None and row[5] is not None:
            self._check_path(key, session)

    @staticmethod
    def _check_ends(session: str, number: int, state: str, steps: int, pauses: int, ends: int) -> None:
        finals = ends - pauses
        if state in ("done", "failed", "aborted"):
            right = finals == 1 and pauses in (steps - 1, steps)
        elif state == "running":
            right = finals == 0 and pauses == steps - 1
        else:
            right = finals == 0 and pauses == steps
        if not right:
            detail = f"{session} turn {number} is {state} with {steps} steps, {pauses} pauses told, {finals} ends told"
            raise Violation("a step has not exactly one end", detail)

    def _check_queue(self, key: int, session: str) -> None:
        """Who leaves the queue was its first, unless somebody emptied it (C21)."""
        waiting = [turn_id for (turn_id,) in self.all(
            "SELECT turn_id FROM queue_entry WHERE session_key = ? GROUP BY turn_id ORDER BY min(number)", key
        )]  # fmt: skip
        before, self._queues[key] = self._queues.get(key, []), waiting
        left = [turn_id for turn_id in before if turn_id not in waiting]
        if left != before[: len(left)] and not self._stopping(session):
            raise Violation("the queue is served out of order", f"{session}: {left} left {before}")

    def _check_path(self, key: int, session: str) -> None:
        row = SessionRow.by_key(self._tx, key)
        if row is None:
            return
        (last,) = self.all("SELECT type FROM event WHERE session_key = ? ORDER BY seq DESC LIMIT 1", key)
        pending = self.all("SELECT call_id FROM question WHERE session_key = ? AND state = 'pending'", key)
        delegated = self.all("SELECT parent_call_id FROM execution WHERE session_key = ? AND status = ?",
                             key, "PENDING_USER_INPUT")  # fmt: skip
        allowed = {call for (call,) in (*pending, *delegated) if call is not None}
        messages = [entry.message.as_dict() for entry in path(self._tx, key, row.head, None)]
        check_pairs(messages, allowed, session, ends_inside=last[0] == "head.moved")


def check_pairs(
    messages: Sequence[dict[str, Any]], allowed: set[str], where: str, *, ends_inside: bool = False
) -> None:
    """Each call of a stored path has its result right after its reply, in any order (T7).

    Turns may have the same ids: they are told apart in the request (T14).
    """
    asked: set[str] = set()
    for message in messages:
        if message["role"] == "tool":
            if message["tool_call_id"] not in asked:
                raise Violation("a result without its call", f"{where}: {message}")
            asked.remove(message["tool_call_id"])
            continue
        if asked:
            raise Violation("a call without its result", f"{where}: {sorted(asked)} before {message}")
        ids = [call["id"] for call in message.get("tool_calls") or ()]
        if len(set(ids)) < len(ids):
            raise Violation("a call id comes twice", f"{where}: {ids}")
        asked = set(ids)
        if not message["content"] and not asked:
            raise Violation("an empty message", f"{where}: {message}")
    if asked - allowed and not ends_inside:
        raise Violation("a call without its result", f"{where}: {sorted(asked - allowed)} at the end")
