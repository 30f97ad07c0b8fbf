"""Rows that were damaged from outside are repaired once, wherever they are met, and that is told (D14, C36)."""

from __future__ import annotations

import logging
import sqlite3
from contextlib import closing
from typing import Any

import psycopg
import pytest

from agentflow import ModelRequest, StoreError
from agentflow.testing import Kit
from tests.scenarios.invariants import check_wire, everything
from tests.scenarios.support import call, rows

SESSION = "s-1"


@pytest.fixture(autouse=True)
def live_view() -> None:
    """What was told live is not what the log says of rows that were changed since."""


def look(place: str) -> str:
    """Look at a place."""
    return f"{place} is quiet"


def replies(request: ModelRequest) -> dict[str, Any]:
    if request.messages[-1]["content"] != "go":
        return {"text": "fine"}
    return {"tool_calls": [call("look", place="a"), call("look", place="b")]}


def damaged(kit: Kit, db: str, statement: str, **settings: Any) -> None:
    """A session of two turns in which the rows of the first were changed while nobody ran."""
    kit.agent(tools=[look], replies=replies, settings={"lean_history": False, "max_parallel_tools": 1, **settings})
    kit.send("go")
    kit.send("thanks")
    kit.restart()
    change(db, statement)


def change(db: str, statement: str) -> None:
    if db.startswith("sqlite:///"):
        with closing(sqlite3.connect(db.removeprefix("sqlite:///").partition("?")[0])) as file:
            file.execute(statement)
            file.commit()
        return
    with psycopg.connect(db.replace("postgresql+psycopg://", "postgresql://")) as server:
        server.execute(statement)


DAMAGE = {
    "a call's row is gone": "DELETE FROM tool_call WHERE id IN (SELECT min(id) FROM tool_call)",
    "the reply is gone": "DELETE FROM message WHERE depth = 2",
    "a result's call is another": "UPDATE message SET call_id = 'other' WHERE depth = 3",
    "one of two results is gone": "DELETE FROM message WHERE depth = 4",
    "both results are gone": "DELETE FROM message WHERE depth IN (3, 4)",
}
UNPAIRED = [name for name in DAMAGE if name != "a call's row is gone"]


@pytest.mark.parametrize("lean", [False, True], ids=["full", "lean"])
@pytest.mark.parametrize("name", DAMAGE)
def test_every_later_turn_works(agentflow: Kit, agentflow_db: str, name: str, lean: bool) -> None:
    damaged(agentflow, agentflow_db, DAMAGE[name], lean_history=lean)
    for text in ("one", "two", "three"):
        assert agentflow.send(text).answer == "fine"
        check_wire(agentflow.requests[-1].messages)
    assert [m["content"] for m in agentflow.path()][-6:] == ["one", "fine", "two", "fine", "three", "fine"]


@pytest.mark.parametrize("name", UNPAIRED)
def test_it_is_repaired_once_and_told(
    agentflow: Kit, agentflow_db: str, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    """C36: what is recorded is provider-valid from then on; the log and the trace say so."""
    damaged(agentflow, agentflow_db, DAMAGE[name])
    with caplog.at_level(logging.WARNING, "agentflow.turn"):
        repaired = agentflow.send("one").turn_id
        agentflow.restart()
        agentflow.send("two")
    assert sum("damaged from outside" in record.message for record in caplog.records) == 1
    (told,) = agentflow.events("history.repaired")
    assert told.turn_id == repaired
    assert told.data["closed"] or told.data["left_out"]
    trace = agentflow.run(agentflow.runtime.trace(SESSION, 3))
    assert "history.repaired" in str(trace["steps"])
    assert [m["content"] for m in agentflow.path() if m["role"] == "user"] == ["go", "thanks", "one", "two"]
    assert agentflow.run(agentflow.runtime.explain("test", SESSION))["damage"] is None


@pytest.mark.parametrize("name", UNPAIRED)
def test_explain_says_so_and_writes_nothing(agentflow: Kit, agentflow_db: str, name: str) -> None:
    damaged(agentflow, agentflow_db, DAMAGE[name])
    before = everything(agentflow_db, SESSION)
    found = agentflow.run(agentflow.runtime.explain("test", SESSION))
    assert found["damage"]["closed"] or found["damage"]["left_out"]
    check_wire(found["messages"])
    agentflow.path()
    agentflow.events()
    assert everything(agentflow_db, SESSION) == before


def test_what_is_told_names_the_calls(agentflow: Kit, agentflow_db: str) -> None:
    damaged(agentflow, agentflow_db, DAMAGE["one of two results is gone"])
    second = rows(agentflow_db, "SELECT id FROM tool_call ORDER BY started_at, id")
    agentflow.send("one")
    (told,) = agentflow.events("history.repaired")
    assert (len(told.data["closed"]), told.data["left_out"]) == (1, [])
    assert (told.data["closed"][0],) in second
    lost = [m["content"] for m in agentflow.path() if m["role"] == "tool"]
    assert lost == ["a is quiet", "Not finished: the result of this call was lost; its outcome is unknown."]


def test_old_ids_mean_their_copies_afterwards(agentflow: Kit, agentflow_db: str) -> None:
    """C15: a client that resends what it has goes on where the path was repaired."""
    damaged(agentflow, agentflow_db, DAMAGE["one of two results is gone"])
    known = agentflow.path()
    agentflow.send("one")
    head = agentflow.tree()["head_id"]
    assert agentflow.view([*known, *agentflow.path()[-2:], {"role": "user", "content": "two"}]).answer == "fine"
    nodes = {node["message"]["id"]: node for node in agentflow.tree()["nodes"]}
    (said,) = [node for node in nodes.values() if node["message"]["content"] == "two"]
    assert said["parent_id"] == head


@pytest.mark.parametrize("by", ["making room", "a worker"])
def test_a_lean_session_is_repaired_where_the_whole_path_is_read(agentflow: Kit, agentflow_db: str, by: str) -> None:
    room = {"strategy": [{"use": "reset", "idle_secs": 3600}]}
    given: dict[str, Any] = {"context": room} if by == "making room" else {"worker": "decide.py:decide"}
    if by == "a worker":
        file = agentflow.project / "agents" / "test" / "decide.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("def decide(request):\n    return request['proposed']\n")
    agentflow.agent(tools=[look], replies=replies, **given)
    agentflow.send("go")
    agentflow.restart()
    change(agentflow_db, DAMAGE["one of two results is gone"])
    agentflow.advance(7200)
    for text in ("one", "two"):
        assert agentflow.send(text).answer == "fine"
    assert len(agentflow.events("history.repaired")) == 1
    assert agentflow.run(agentflow.runtime.explain("test", SESSION))["damage"] is None


@pytest.mark.parametrize("name", ["the row of the call is gone", "the reply is gone"])
def test_a_pause_is_answered_all_the_same(agentflow: Kit, agentflow_db: str, name: str) -> None:
    """The next message is the answer, whatever is left of the call that asked."""
    asks = {"tool_calls": [call("ask_user", questions=[{"header": "Which", "question": "Which one?"}])]}
    agentflow.agent(replies=[asks, {"text": "fine"}, {"text": "fine"}], settings={"lean_history": False})
    assert agentflow.send("which?").question
    agentflow.restart()
    change(
        agentflow_db, "DELETE FROM tool_call" if name.startswith("the row") else "DELETE FROM message WHERE depth = 2"
    )
    for text in ("green", "two"):
        assert agentflow.send(text).answer == "fine"
        check_wire(agentflow.requests[-1].messages)


WAITING = {"type": "client.message", "message": {"role": "user", "content": "two"}, "queue": True}


def queued(kit: Kit) -> None:
    """A turn that runs until it is let go, and one that waits behind it."""
    kit.agent(replies=[{"text": "fine", "repeat": True}])
    kit.hold()
    kit.submit({"type": "client.message", "message": {"role": "user", "content": "one"}, "turn_id": "t-1"})
    kit.submit({**WAITING, "turn_id": "t-2"})


def test_whoever_hands_in_behind_a_damaged_queue_is_told_at_once(agentflow: Kit, agentflow_db: str) -> None:
    """Z1: what waits there stays as it is, and nobody waits for ever."""
    queued(agentflow)
    agentflow.restart()
    change(agentflow_db, "UPDATE queue_entry SET input = '[1]'")
    with pytest.raises(StoreError, match=r"queue_entry\.input") as told:
        agentflow.submit({**WAITING, "turn_id": "t-3"})
    assert told.value.detail["damaged"]
    assert rows(agentflow_db, "SELECT turn_id FROM queue_entry ORDER BY number") == [("t-2",)]


def test_whoever_waits_in_a_queue_that_is_damaged_meanwhile_is_told(agentflow: Kit, agentflow_db: str) -> None:
    queued(agentflow)
    change(agentflow_db, "UPDATE queue_entry SET input = '[1]'")
    agentflow.release()
    with pytest.raises(StoreError, match=r"queue_entry\.input"):
        agentflow.result("t-2")
    assert rows(agentflow_db, "SELECT turn_id FROM queue_entry") == [("t-2",)]


def test_a_queue_that_is_counted_wrong_is_named(agentflow: Kit, agentflow_db: str) -> None:
    """Z1: found on Postgres; whatever asks for the next turn would find none."""
    agentflow.agent(replies=[{"text": "fine"}])
    agentflow.send("one")
    change(agentflow_db, "UPDATE session SET queued = 7")
    with pytest.raises(StoreError, match=r"session\.queued of the row .* must be how many turns wait"):
        agentflow.send("two")


def test_rows_of_the_database_itself_are_looked_through_too(agentflow: Kit, agentflow_db: str) -> None:
    """Z1, S7: what a repeated request was answered, and who sweeps."""
    agentflow.agent(replies=[{"text": "fine"}])
    agentflow.send("one")
    change(
        agentflow_db,
        "INSERT INTO keyed_request (name, fingerprint, owner, lease_until, at, answer) "
        "VALUES ('k', 'f', 'o', 1, 1, '{')",
    )
    change(agentflow_db, "INSERT INTO sweep (name, owner, lease_until) VALUES ('queues', 'o', -1)")
    found = agentflow.run(agentflow.runtime.records.check())
    assert sorted((each["table"], each["column"]) for each in found) == [
        ("keyed_request", "answer"),
        ("sweep", "lease_until"),
    ]
