"""R12: what is not used for as long as the files say is deleted, and cannot come back."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agentflow import InvalidInput, SessionNotFound, StaleOwner
from agentflow.store.sql.tables import Base
from agentflow.testing import Kit
from tests.both_databases import on_both_databases
from tests.scenarios.support import Gate, rows

DAY = 24 * 3600
OWNED = sorted(table.name for table in Base.metadata.sorted_tables if "session_key" in table.columns)


agentflow_db = on_both_databases


def keep(kit: Kit, days: int | None = None, **keys: Any) -> None:
    """An agent that says "ok", in a project that keeps sessions for so many days."""
    if days is not None:
        (kit.project / "agentflow.yaml").write_text(f"retention_days: {days}\n")
    kit.agent(**{"replies": lambda request: {"text": "ok"}, **keys})


def sweep(kit: Kit, **options: Any) -> dict[str, Any]:
    return dict(kit.run(kit.runtime.records.sweep(**options)))


def test_what_was_not_used_for_retention_days_is_deleted_with_every_row(agentflow: Kit) -> None:
    keep(agentflow, 30)
    agentflow.send("old", "s-old")
    agentflow.tick(29 * DAY)
    agentflow.send("young", "s-young")
    assert sweep(agentflow)["deleted"] == []
    agentflow.tick(2 * DAY)
    assert sweep(agentflow) == {"deleted": ["s-old"], "skipped": [], "swept": True, "dry_run": False}
    (key,) = rows(agentflow._db, "SELECT key FROM session")[0]
    for table in OWNED:
        assert rows(agentflow._db, f"SELECT count(*) FROM {table} WHERE session_key != {key}") == [(0,)], table
    with pytest.raises(SessionNotFound):
        agentflow.status("s-old")
    assert agentflow.status("s-young")["status"] == "idle"


def test_nothing_is_deleted_unless_somebody_says_so(agentflow: Kit) -> None:
    keep(agentflow)
    agentflow.send("x")
    agentflow.tick(10_000 * DAY)
    assert sweep(agentflow)["deleted"] == []


def test_an_agents_own_retention_goes_before_its_projects(agentflow: Kit) -> None:
    keep(agentflow, 30, name="short", settings={"retention_days": 1})
    agentflow.send("x", "s-short")
    keep(agentflow, name="ever", settings={"retention_days": 0})
    agentflow.send("x", "s-ever")
    keep(agentflow, name="usual")
    agentflow.send("x", "s-usual")
    agentflow.tick(2 * DAY)
    assert sweep(agentflow)["deleted"] == ["s-short"]
    agentflow.tick(30 * DAY)
    assert sweep(agentflow)["deleted"] == ["s-usual"]
    keep(agentflow, name="ever", settings={"retention_days": 5})  # the file as it is now counts
    assert sweep(agentflow)["deleted"] == ["s-ever"]


@pytest.mark.parametrize("damage", ["gone", "broken"])
def test_sessions_of_an_agent_that_cannot_be_read_are_kept_as_their_last_turn_says(agentflow: Kit, damage: str) -> None:
    keep(agentflow, 1, name="long", settings={"retention_days": 90})
    agentflow.send("x", "s-long")
    keep(agentflow, name="plain")
    agentflow.send("x", "s-plain")
    for name in ("long", "plain"):
        file = agentflow.project / "agents" / name / "agent.yaml"
        file.unlink() if damage == "gone" else file.write_text("nmae: x")
    agentflow.restart()
    agentflow.tick(2 * DAY)
    assert sweep(agentflow)["deleted"] == ["s-plain"]
    agentflow.tick(90 * DAY)
    assert sweep(agentflow)["deleted"] == ["s-long"]


def test_older_than_goes_before_what_the_files_say(agentflow: Kit) -> None:
    keep(agentflow, settings={"retention_days": 90})
    agentflow.send("x")
    agentflow.tick(3 * DAY)
    assert sweep(agentflow, older_than="1w")["deleted"] == []
    assert sweep(agentflow, older_than="71h")["deleted"] == ["s-1"]


@pytest.mark.parametrize("age", ["", "30", "d", "0d", "-1d", "1.5d", "30 d", "1m", "9999999d", 30])
def test_what_is_no_age_deletes_nothing(agentflow: Kit, age: Any) -> None:
    keep(agentflow)
    agentflow.send("x")
    agentflow.tick(1000 * DAY)
    with pytest.raises(InvalidInput, match="older_than: must be"):
        sweep(agentflow, older_than=age)
    assert agentflow.status()["status"] == "idle"


def test_a_dry_run_says_what_would_go_and_deletes_nothing(agentflow: Kit) -> None:
    keep(agentflow, 1)
    for session in ("s-1", "s-2"):
        agentflow.send("x", session)
    agentflow.tick(2 * DAY)
    found = {"deleted": ["s-1", "s-2"], "skipped": [], "swept": True, "dry_run": True}
    assert sweep(agentflow, dry_run=True) == found
    assert agentflow.status()["status"] == "idle"
    assert rows(agentflow._db, "SELECT * FROM sweep") == []


def test_a_running_and_a_queued_session_stay_and_are_named(agentflow: Kit) -> None:
    keep(agentflow, 1, replies=Gate({"text": "ok"}))
    agentflow.submit({"type": "client.message", "message": {"role": "user", "content": "one"}}, "s-runs")
    agentflow.until("turn.started", "s-runs")
    agentflow.tick(2 * DAY)
    assert sweep(agentflow) == {
        "deleted": [], "skipped": [{"session_id": "s-runs", "why": "running"}], "swept": True, "dry_run": False,
    }  # fmt: skip
    two = {"type": "client.message", "message": {"role": "user", "content": "two"}, "queue": True}
    agentflow.submit(two, "s-runs")
    agentflow.kill()  # nothing runs any more, and the second turn waits
    agentflow.reopen()
    agentflow.tick(2 * DAY)
    assert sweep(agentflow)["skipped"] == [{"session_id": "s-runs", "why": "queued"}]


def test_a_paused_session_counts_from_its_pause(agentflow: Kit) -> None:
    asks = {"tool_calls": [{"name": "ask_user", "arguments": {"questions": [{"header": "A", "question": "B?"}]}}]}
    keep(agentflow, 10, replies=lambda request: asks)
    agentflow.send("x")
    agentflow.tick(9 * DAY)
    assert sweep(agentflow)["deleted"] == []
    agentflow.tick(2 * DAY)
    assert sweep(agentflow)["deleted"] == ["s-1"]


def test_a_turn_whose_process_died_does_not_hold_its_session_for_ever(agentflow: Kit) -> None:
    keep(agentflow, 1)
    agentflow.submit({"type": "client.message", "message": {"role": "user", "content": "one"}})
    agentflow.kill()
    agentflow.reopen()
    agentflow.tick(2 * DAY)
    assert sweep(agentflow)["deleted"] == ["s-1"]


@pytest.mark.parametrize("use", ["feedback", "name", "checkout"])
def test_any_use_of_a_session_keeps_it(agentflow: Kit, use: str) -> None:
    keep(agentflow, 10)
    agentflow.send("x")
    first = agentflow.path()[0]["id"]
    uses = {
        "feedback": lambda rt: rt.records.feedback("s-1", 1, "up"),
        "name": lambda rt: rt.records.name("s-1", "Mine"),
        "checkout": lambda rt: rt.checkout("s-1", first),
    }
    agentflow.tick(9 * DAY)
    agentflow.run(uses[use](agentflow.runtime))
    agentflow.tick(9 * DAY)
    assert sweep(agentflow)["deleted"] == []


def test_the_same_id_starts_blank_afterwards(agentflow: Kit) -> None:
    keep(agentflow, 1)
    agentflow.send("remember this")
    agentflow.run(agentflow.runtime.records.name("s-1", "Mine"))
    agentflow.tick(2 * DAY)
    sweep(agentflow)
    agentflow.send("anew", agent_id="test")
    found = agentflow.session()
    assert ([message["content"] for message in found["messages"]], found["name"]) == (["anew", "ok"], None)
    assert "remember this" not in str(agentflow.requests[-1].messages)
    assert agentflow.events()[0].seq == 1


def test_a_writer_that_comes_late_brings_nothing_back(agentflow: Kit) -> None:
    """A turn that lost its session, feedback, a name."""
    gate = Gate({"text": "too late"})
    keep(agentflow, 1, replies=gate)
    agentflow.submit({"type": "client.message", "message": {"role": "user", "content": "one"}})
    agentflow.until("turn.started")
    ((key,),) = rows(agentflow._db, "SELECT key FROM session")
    ledger = agentflow.runtime._store.ledger

    async def late() -> None:
        await ledger._writer.run(  # type: ignore[attr-defined]  # as another process that thinks it dead
            lambda tx: tx.execute("DELETE FROM session WHERE key = ?", key)
        )
        gate.open()
        (running,) = agentflow.runtime._turns._turns.values()
        with pytest.raises(StaleOwner):
            await running.task
        assert not await ledger.rate(key, 1, "up", None, 1)
        assert await ledger.give_name(key, "x", 1) is None
        assert await ledger.end_naming(key, (), "x", 1) is None
        assert not await ledger.begin_naming(key)

    agentflow.run(late())
    for table in ("session", *OWNED):
        assert rows(agentflow._db, f"SELECT count(*) FROM {table}") == [(0,)], table


def test_two_runtimes_that_sweep_at_once_delete_each_session_once(agentflow: Kit) -> None:
    keep(agentflow, 1)
    sessions = [f"s-{number}" for number in range(45)]  # more than go together
    for session in sessions:
        agentflow.send("x", session)
    other = agentflow.another_runtime()
    agentflow.tick(2 * DAY)

    async def both() -> list[dict[str, Any]]:
        return list(await asyncio.gather(agentflow.runtime.records.sweep(), other.records.sweep()))

    found = agentflow.run(both())
    assert sorted(each["swept"] for each in found) in ([False, True], [True, True])
    assert sorted(id_ for each in found for id_ in each["deleted"]) == sorted(sessions)
    assert rows(agentflow._db, "SELECT count(*) FROM session") == [(0,)]


def test_an_evaluation_is_not_swept(agentflow: Kit) -> None:
    """R9"""
    keep(agentflow)
    (agentflow.project / "agentflow.yaml").write_text("environment: evaluation\nretention_days: 1\n")
    agentflow.restart()
    agentflow.send("x")
    agentflow.tick(2 * DAY)
    assert sweep(agentflow)["deleted"] == []
