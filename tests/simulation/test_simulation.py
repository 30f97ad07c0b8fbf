"""The simulator itself: a seed is one life, the dead do nothing, and what is wrong is seen."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Iterator

import pytest

from tests.simulation import breaks, rows
from tests.simulation.database import Faults, SimulatedDatabase, new_database
from tests.simulation.ledger import Ledger, Violation
from tests.simulation.loop import LANE, Lane, SimulatedLoop
from tests.simulation.operations import CLIENTS, Operation
from tests.simulation.rows import Rows, check_pairs
from tests.simulation.world import World

STEPS = 150


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def _lived(seed: int, steps: int = STEPS) -> World:
    world = World(seed, steps, keep_history=True)
    world.run()
    return world


def test_the_same_seed_is_the_same_life() -> None:
    first, second = _lived(1), _lived(1)
    assert first.digest == second.digest != _lived(2).digest
    assert "\n".join(first.history or ()) == "\n".join(second.history or ())


def test_a_life_can_be_lived_with_fewer_operations() -> None:
    whole = World(3, STEPS)
    fewer = World(3, STEPS, whole.operations[:1])
    fewer.run()
    assert fewer.begun == whole.operations[:1]


def test_callbacks_of_a_process_run_in_order_and_never_after_its_death() -> None:
    loop, seen = SimulatedLoop(), list[str]()
    lane = Lane("p")
    context = asyncio.events.contextvars.copy_context()
    context.run(LANE.set, lane)
    for word in ("a", "b", "c"):
        loop.call_soon(seen.append, word, context=context)
    loop.call_later(1, seen.append, "late", context=context)
    loop.run(lane)
    loop.run(lane)
    assert seen == ["a", "b"]
    lane.is_alive = False
    lane.ready.clear()
    loop.advance()
    assert loop.now == 1
    assert not lane.ready


def test_time_passes_only_when_it_is_let() -> None:
    loop, lane = SimulatedLoop(), Lane("p")
    context = asyncio.events.contextvars.copy_context()
    context.run(LANE.set, lane)
    loop.call_later(5, list, context=context)
    loop.call_later(3, list, context=context).cancel()
    assert (loop.now, loop.next_time()) == (0, 5)
    loop.advance()
    assert loop.now == 5
    assert len(lane.ready) == 1


@pytest.mark.parametrize(("place", "kept"), [("begin", 0), ("statement", 0), ("commit", 0), ("answer", 1)])
def test_a_database_refuses_where_it_is_told_to(place: str, kept: int) -> None:
    shared = new_database()
    database = SimulatedDatabase(shared)
    database.faults.places.append(place)
    cursor = database.connect().cursor()

    def transaction() -> None:
        for text in ("BEGIN IMMEDIATE", "CREATE TABLE new (a)", "SELECT 1", "SELECT 2", "COMMIT"):
            cursor.execute(text)

    with pytest.raises(sqlite3.OperationalError, match=f"at {place}"):
        transaction()
    if shared.in_transaction:
        cursor.execute("ROLLBACK")
    assert shared.execute("SELECT count(*) FROM sqlite_master WHERE name = 'new'").fetchone() == (kept,)
    assert database.faults.met == 1


def test_without_a_fault_nothing_is_refused() -> None:
    assert Faults().places == []


def test_a_hole_in_the_rows_is_seen_at_the_next_commit() -> None:
    shared = new_database()
    shared.execute(
        "INSERT INTO session (id, agent, environment, created_at, updated_at, seq, epoch, queued, turns, steps, "
        "executions, branches, branch, depth) VALUES ('s', 'a', 'e', 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1)"
    )
    with pytest.raises(Violation, match="the head has no message"):
        Rows(shared, lambda session: False).check()


@pytest.mark.parametrize("name", rows._NEVER)
def test_what_may_never_be_is_asked_in_sql_the_database_takes(name: str) -> None:
    assert new_database().execute(rows._NEVER[name], (1,)).fetchall() == []


@pytest.mark.parametrize(
    ("messages", "name"),
    [
        ([{"role": "tool", "tool_call_id": "a", "content": "x"}], "a result without its call"),
        ([{"role": "assistant", "content": None, "tool_calls": [{"id": "a"}]}], "a call without its result"),
        ([{"role": "assistant", "content": ""}], "an empty message"),
    ],
)
def test_a_path_no_provider_takes_is_seen(messages: list[dict[str, object]], name: str) -> None:
    with pytest.raises(Violation, match=name):
        check_pairs(messages, set(), "s")


def test_a_tool_that_runs_twice_is_seen() -> None:
    ledger = Ledger()
    ledger.ran("s/t/c")
    with pytest.raises(Violation, match="a tool ran twice"):
        ledger.ran("s/t/c")


def test_an_operation_that_fails_otherwise_than_it_may_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fails(client: object) -> None:
        raise LookupError("planted")

    monkeypatch.setitem(CLIENTS, "say", fails)
    world = World(1, STEPS, [Operation(0, 0, "say", 0, 0, 0)])
    violation = world.run()
    assert violation is not None
    assert violation.name == "an unexpected error"
    assert "planted" in violation.detail


def test_breaks_have_names_of_their_own() -> None:
    names = [each.name for each in breaks.BREAKS]
    assert len(set(names)) == len(names) >= 10
