"""What is true of every session at any moment, checked on what its reader and its rows tell (C36, T30, T41)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from agentflow import Event, Runtime
from agentflow.store.sql.tables import Base
from tests.scenarios.statistics import differences
from tests.scenarios.support import reading

TABLES = sorted({"session", *(table.name for table in Base.metadata.sorted_tables if "session_key" in table.columns)})

Wire = Mapping[str, Any]


def everything(db: str, session_id: str) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of a session: what a read leaves as it is."""
    with reading(db) as select:
        ((key,),) = select(f"SELECT key FROM session WHERE id = '{session_id}'")
        return {
            table: sorted(
                select(f"SELECT * FROM {table} WHERE {'key' if table == 'session' else 'session_key'} = {key}"),
                key=repr,
            )
            for table in TABLES
        }


def check_wire(messages: Iterable[Wire]) -> None:
    """T7: each call has exactly one result, directly after it, in call order, under an id of its own; no empty text."""
    waiting: list[str] = []
    taken: set[str] = set()
    for message in messages:
        if message["role"] == "tool":
            assert waiting, f"a result of no call: {message}"
            assert message["tool_call_id"] == waiting.pop(0)
            continue
        assert not waiting, f"calls without a result: {waiting}"
        waiting = [each["id"] for each in message.get("tool_calls") or ()]
        assert len(set(waiting)) == len(waiting)
        assert taken.isdisjoint(waiting)
        taken.update(waiting)
        assert message["content"] or waiting, f"an empty message: {message}"
    assert not waiting, f"calls without a result: {waiting}"


def check_path(messages: Sequence[Wire], pending: str | None, *, ends_inside: bool = False) -> None:
    """The same of a stored path, whose results stand in the order they came.

    A pending question may be open; with `ends_inside`, where the head was moved to, the last exchange (C16).
    """
    asked: set[str] = set()
    for message in messages:
        if message["role"] == "tool":
            assert message["tool_call_id"] in asked, f"a result of no open call: {message}"
            asked.remove(message["tool_call_id"])
            continue
        assert not asked, f"calls without a result: {asked}"
        asked = {each["id"] for each in message.get("tool_calls") or ()}
    assert ends_inside or asked <= {pending}, f"calls without a result: {asked}"


def check_log(events: Sequence[Event], *, is_running: bool) -> None:
    """T40, T41: numbered from 1 without a gap; every step that was opened has one `done`, the running one none yet.

    A step that paused has told so; closing the question later ends it once more, for good (T25).
    """
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    ends: dict[int, list[bool]] = {}
    opened = completed = 0
    for event in events:
        if event.type == "step.started":
            assert opened not in ends or ends[opened], f"step {opened} was left open"
            opened = event.data["order"]
            ends[opened] = []
        elif event.type == "step.completed":
            completed = event.data["order"]
        elif event.type == "done":
            ends.setdefault(completed, []).append(event.data["pending"])
    running = [step for step, done in ends.items() if not done]
    assert running == ([opened] if is_running else [])
    for step, done in ends.items():
        assert done in ([], [False], [True], [True, False]), f"step {step} ended {done}"
    assert sorted(ends) == list(range(1, len(ends) + 1))


_OPEN = """
SELECT {what} FROM {table} JOIN turn ON turn.session_key = {table}.session_key AND turn.number = {table}.turn
JOIN session ON session.key = turn.session_key WHERE session.id = '{session_id}' AND {open}
"""
_OPEN_ROWS = (
    (
        "tool_call",
        "tool_call.status IN ('planned', 'started') AND tool_call.name NOT IN ('ask_user', 'delegate')",
        "running",
    ),
    ("tool_call", "tool_call.status IN ('planned', 'started')", "running paused_ask_user"),
    ("execution", "execution.status = 'RUNNING'", "running"),
    ("execution", "execution.status = 'PENDING_USER_INPUT'", "paused_ask_user"),
    ("llm_call", "llm_call.status = 'requested'", "running"),
    ("question", "question.state = 'pending'", "paused_ask_user"),
    ("step", "step.state = 'running'", "running"),
)


def check_rows(db: str, session_id: str) -> None:
    """At most one turn runs, it is the one that has the session; nothing is open in a turn that ended."""
    with reading(db) as select:
        running = select(
            "SELECT turn.number, session.turn FROM turn JOIN session ON session.key = turn.session_key "
            f"WHERE session.id = '{session_id}' AND turn.state = 'running'"
        )
        assert len(running) <= 1
        assert all(number == holder for number, holder in running)
        for table, is_open, states in _OPEN_ROWS:
            found = select(_OPEN.format(what="turn.state", table=table, session_id=session_id, open=is_open))
            assert {state for (state,) in found} <= set(states.split()), f"{table}: {is_open} in turns that are {found}"


def check_tree(db: str, session_id: str) -> None:
    """C5, C36: no hole in a branch, so no parent is missing inside it; forks and the head are where messages are."""
    with reading(db) as select:
        ((key, *head),) = select(f"SELECT key, branch, depth FROM session WHERE id = '{session_id}'")
        nodes = set(select(f"SELECT branch, depth FROM message WHERE session_key = {key}"))
        branches = select(f"SELECT number, parent, fork_depth FROM branch WHERE session_key = {key}")
    for number, parent, fork_depth in branches:
        depths = sorted(depth for branch, depth in nodes if branch == number)
        assert depths == list(range(fork_depth + 1, fork_depth + 1 + len(depths))), f"branch {number}: {depths}"
        assert parent is None or (parent, fork_depth) in nodes, f"branch {number} forks from where no message is"
    assert head == [None, None] or tuple(head) in nodes, f"the head {head} has no message"


def check_once(marks: Iterable[str]) -> None:
    """T30: no tool is ever executed a second time."""
    twice = [mark for mark, count in Counter(marks).items() if count > 1]
    assert not twice, f"executed more than once: {twice}"


async def logged(runtime: Runtime, session_id: str) -> list[Event]:
    return [event async for event in runtime.events(session_id)]


async def check_session(runtime: Runtime, db: str, session_id: str) -> None:
    """All of it, of one session."""
    status = await runtime.status(session_id)
    is_running, is_dead = status["status"] == "running", status["status"] == "aborted"
    log = await logged(runtime, session_id)
    check_log(log, is_running=is_running or is_dead)
    check_rows(db, session_id)
    check_tree(db, session_id)
    if not is_running and not is_dead:
        path = (await runtime.session(session_id))["messages"]
        with reading(db) as select:
            ((key,),) = select(f"SELECT key FROM session WHERE id = '{session_id}'")
            assert differences(select, key) == []
        check_path(path, status["tool_call_id"], ends_inside=log[-1].type == "head.moved")
