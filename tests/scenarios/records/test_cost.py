"""R4: closing and resuming a turn looks at that turn; what the session has besides costs nothing."""

from __future__ import annotations

import sqlite3
from collections import Counter

import pytest

from agentflow.store.sql.database import SqliteDatabase
from agentflow.testing import Kit
from tests.scenarios.support import call

ASK = {"tool_calls": [call("ask_user", questions=[{"header": "Which", "question": "Which one?"}])]}
EVERY = 10  # instructions of SQLite's machine


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """`work["done"]` counts what the databases of this process do, in tens of instructions.

    The walk along the active path, which looks for what the last call on it reported, is left out.
    """
    done: Counter[str] = Counter()
    connect = SqliteDatabase.connect

    def counted(database: SqliteDatabase) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(database)
        kind = ["done"]
        connection.set_trace_callback(lambda text: kind.__setitem__(0, "walk" if "RECURSIVE line" in text else "done"))
        connection.set_progress_handler(lambda: done.update([kind[0]]), EVERY)
        return connection

    monkeypatch.setattr(SqliteDatabase, "connect", counted)
    return done


def look(place: str) -> str:
    """Look at a place."""
    return f"seen {place}"


def test_answering_and_stopping_cost_the_same_after_many_turns(agentflow: Kit, work: Counter[str]) -> None:
    looks = {"tool_calls": [call("look", place="a"), call("look", place="b")]}

    def replies(request: object) -> dict[str, object]:
        return dict(said.pop(0))

    said: list[dict[str, object]] = []
    agentflow.agent(tools=[look], replies=replies, context={"strategy": [{"use": "reset", "idle_secs": 1}]})

    def turn(*given: dict[str, object]) -> None:
        said.extend(given)
        agentflow.send("go")

    def cost() -> dict[str, int]:
        """Of a turn that is answered, and of one that is stopped while it waits."""
        agentflow.advance(2)
        turn(looks, ASK)
        spent = {}
        said.extend([looks, {"text": "done"}])
        work.clear()
        agentflow.answer({"Which": "this"})
        spent["answer"] = work["done"]
        turn(ASK)
        work.clear()
        agentflow.stop()
        spent["stop"] = work["done"]
        return spent

    cost()
    few = cost()
    for _ in range(50):
        turn(looks, {"text": "done"})
    many = cost()
    assert {name for name, spent in many.items() if spent > 1.25 * few[name]} == set()
